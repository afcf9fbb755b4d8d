/* Runs the generated programs that are linked with it. Usage: PROGRAM RESULT
 *
 * Each module is linked twice: the first copy calls `oracle_access` before each access; the second is instrumented. Only
 * this file decides which addresses are global: those in its own memory and in registered variables. For each module and
 * program, RESULT contains these 64-bit words: module, program, number of events, events {what (site, or operation + 2^32),
 * width, object, offset}, number of objects, objects {object, hash of its final bytes}. */
#include "thread.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct CpuKernel {
  const char *name;
  void (*thunk)(void **);
  uint32_t parameters, flags;
  uint64_t static_shared_bytes;
  uint32_t (*step)(void **, void *, uint32_t, uint32_t, uint32_t);
  uint64_t frame_bytes;
  const uint32_t *parameters_at;
  const void *function;
  uint64_t max_threads;
};
struct CpuGlobal { const char *name; uint8_t *address; uint64_t bytes; uint32_t space, pad; };
struct CpuModule {
  uint32_t abi_version, module_index;
  const char *name;
  struct SuperstepThread *(*thread_block)(void);
  uint32_t kernel_count, global_count;
  const struct CpuKernel *kernels;
  const struct CpuGlobal *globals;
  const char *table_json;
  uint64_t table_json_bytes;
};
struct Pair { void *first; int64_t number; void *second; };

enum { MODULES = 4096, EVENTS = 1 << 20, POOL_BYTES = 1 << 20, DATA_BYTES = 128 };

static const struct CpuModule *modules[MODULES];
static uint32_t module_count;
static const struct CpuModule *current;
static uint32_t current_program;
static uint64_t events[EVENTS][4];
static uint64_t event_count;

/* Memory that the host would allocate on the device. */
static struct {
  _Alignas(16) uint8_t a[DATA_BYTES], b[DATA_BYTES], c[DATA_BYTES];
  _Alignas(16) void *table[4];
  _Alignas(16) uint8_t pool[POOL_BYTES];
} memory;
static uint64_t pool_bytes;
static _Alignas(16) uint8_t dynamic_shared[DATA_BYTES];

_Noreturn static void fail(const char *what) {
  fprintf(stderr, "module %u, program %u: %s\n", current ? current->module_index : 0, current_program, what);
  _exit(2);
}

static void handle_signal(int number) { fail(number == SIGALRM ? "timed out" : "crashed"); }

static uint64_t hash(const void *bytes, uint64_t length) {
  uint64_t value = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < length; i++) value = (value ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
  return value;
}

/* Returns the ID of the object in global memory at an address, or 0 if there is none. Both copies use the same IDs. */
static uint64_t object_of(const void *pointer, uint64_t *offset) {
  const uint8_t *address = pointer;
  if (address >= (uint8_t *)&memory && address < (uint8_t *)(&memory + 1)) {
    *offset = (uint64_t)(address - (uint8_t *)&memory);
    return 1;
  }
  for (uint32_t i = 0; i < current->global_count; i++) {
    const struct CpuGlobal *global = &current->globals[i];
    if (global->space == 1 && address >= global->address && address < global->address + global->bytes) {
      *offset = (uint64_t)(address - global->address);
      return hash(global->name, strlen(global->name));
    }
  }
  *offset = 0;
  return 0;
}

static void record(uint64_t what, const void *address, uint64_t width, bool only_global) {
  uint64_t offset, object = object_of(address, &offset);
  if (!object && only_global) return;
  if (event_count == EVENTS) fail("too many accesses");
  uint64_t *event = events[event_count++];
  event[0] = what, event[1] = width, event[2] = object, event[3] = offset;
}

void oracle_access(uint32_t id, const void *address, uint64_t width, uint32_t operation) {
  (void)id;
  if (width) record((1ull << 32) + operation, address, width, true);
}
void traced_access(uint32_t site, const void *address, uint32_t width) { record(site, address, width, false); }
void escape(const void *address) { (void)address; }

bool __superstep_is_global(const void *address) {
  uint64_t offset;
  return object_of(address, &offset) != 0;
}
void *__superstep_device_malloc(uint64_t bytes) {
  if (pool_bytes + bytes > POOL_BYTES) fail("too much memory allocated");
  pool_bytes += bytes;
  return memory.pool + pool_bytes - bytes;
}
void __superstep_trap(void) { fail("trapped"); }
void __superstep_misaligned(void) { fail("an aligned address was reported as misaligned"); }
void __superstep_register_cpu_module(const struct CpuModule *module) {
  if (module_count == MODULES) fail("too many modules");
  if (module->abi_version != 6) fail("the module's ABI version differs from this file's");
  modules[module_count++] = module;
}

static void write_words(FILE *file, const uint64_t *words, uint64_t count) {
  if (fwrite(words, 8, count, file) != count) fail("failed to write the result");
}

static bool holds_data(const struct CpuGlobal *global) {
  const char *name = strchr(global->name, '_');
  return name && name[1] == 'g';
}

/* Selects variables whose names start with "p<program>_". */
static bool belongs(const char *name, uint32_t program) {
  unsigned number;
  return sscanf(name, "p%u_", &number) == 1 && number == program;
}

static void reset_tables(uint8_t *const *initial, bool data_too) {
  for (int i = 0; i < 4; i++) memory.table[i] = i % 2 ? memory.b : memory.a;
  memory.table[3] = memory.c + 64;
  for (uint32_t i = 0; i < current->global_count; i++) {
    const struct CpuGlobal *global = &current->globals[i];
    bool variable = global->space == 4 || strstr(global->name, "literal") == NULL;
    if (belongs(global->name, current_program) && variable && strstr(global->name, "_t4") == NULL &&
        strstr(global->name, "functions4") == NULL && (data_too || !holds_data(global)))
      memcpy(global->address, initial[i], global->bytes);
  }
}

static void run_program(FILE *result, uint8_t *const *initial) {
  for (int i = 0; i < DATA_BYTES; i++)
    memory.a[i] = (uint8_t)(i * 37 + 11), memory.b[i] = (uint8_t)(i * 101), memory.c[i] = (uint8_t)(255 - i);
  pool_bytes = event_count = 0;
  for (uint32_t k = 0; k < current->kernel_count; k++) {
    if (!belongs(current->kernels[k].name, current_program)) continue;
    reset_tables(initial, event_count == 0 && strstr(current->kernels[k].name, "_k0") != NULL);
    memset(dynamic_shared, 0x5a, sizeof dynamic_shared);
    struct SuperstepThread *thread = current->thread_block();
    memset(thread, 0, sizeof *thread);
    thread->dynamic_shared = dynamic_shared;
    thread->dynamic_shared_bytes = sizeof dynamic_shared;
    void *a = memory.a, *b = memory.b, *c = memory.c, *t = memory.table;
    struct Pair s = {memory.a + 64, 9, memory.c};
    int64_t x = 0x1234567890abcdef + k;
    alarm(20);
    void **args = (void *[]){&a, &b, &c, &t, &s, &x};
    const struct CpuKernel *kernel = &current->kernels[k];
    /* Programs with odd numbers run as a loop over their threads; here, there is only one thread. */
    static uint64_t *log_starts[32], frame[1 << 16];
    __superstep_thread.log_starts = log_starts;
    for (int i = 0; i < 3; i++) __superstep_thread.ntid[i] = 1;
    if (kernel->frame_bytes * 64 > sizeof frame) fail("the frame is too large");
    uint32_t region = 0;
    if (kernel->step && current_program % 2)
      while (region != UINT32_MAX) region = kernel->step(args, frame, region, 0, 1);
    else
      kernel->thunk(args);
    alarm(0);
  }
  write_words(result, (uint64_t[]){current->module_index, current_program, event_count}, 3);
  write_words(result, events[0], 4 * event_count);
  uint64_t objects = 2;
  for (uint32_t i = 0; i < current->global_count; i++)
    objects += belongs(current->globals[i].name, current_program) && holds_data(&current->globals[i]);
  write_words(result, &objects, 1);
  write_words(result, (uint64_t[]){1, hash(memory.a, 3 * DATA_BYTES), 2, hash(memory.pool, pool_bytes)}, 4);
  for (uint32_t i = 0; i < current->global_count; i++) {
    const struct CpuGlobal *global = &current->globals[i];
    if (belongs(global->name, current_program) && holds_data(global))
      write_words(result, (uint64_t[]){hash(global->name, strlen(global->name)), hash(global->address, global->bytes)}, 2);
  }
}

static void run_module(FILE *result) {
  uint32_t programs = 0;
  for (uint32_t k = 0; k < current->kernel_count; k++) {
    unsigned number;
    if (sscanf(current->kernels[k].name, "p%u_", &number) == 1 && number >= programs) programs = number + 1;
  }
  uint8_t **initial = calloc(current->global_count + 1, sizeof *initial);
  for (uint32_t i = 0; initial && i < current->global_count; i++) {
    initial[i] = malloc(current->globals[i].bytes);
    if (initial[i]) memcpy(initial[i], current->globals[i].address, current->globals[i].bytes);
  }
  for (current_program = 0; current_program < programs; current_program++) run_program(result, initial);
}

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: PROGRAM RESULT\n"), 1;
  for (int i = 0; i < 3; i++) signal((int[]){SIGSEGV, SIGALRM, SIGBUS}[i], handle_signal);
  FILE *result = fopen(arguments[1], "wb");
  if (!result) return perror(arguments[1]), 1;
  for (uint32_t m = 0; m < module_count; m++) {
    current = modules[m];
    run_module(result);
  }
  return fclose(result) ? 1 : 0;
}
