/* Hands a module's table to the interposer when the program starts. Compiled once for each CUDA translation unit, with
 * SUPERSTEP_TABLE naming the table's file and SUPERSTEP_PROTOCOL the protocol of its probes. */

static const char table[] = {
#embed SUPERSTEP_TABLE
};

void __superstep_register_module(const char *json, unsigned long long bytes);
void __superstep_register_protocol(const char *protocol);

__attribute__((constructor)) static void register_table(void) {
  __superstep_register_protocol(SUPERSTEP_PROTOCOL);
  __superstep_register_module(table, sizeof table);
}
