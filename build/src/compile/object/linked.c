/* Registers the device code of a program whose units were linked into one module. Compiled once per program.
 * SUPERSTEP_IMAGE is the file that replaces the GPU binary.
 *
 * With -fgpu-rdc, Clang describes every kernel and every variable of a unit with an entry in the section
 * llvm_offload_entries; llvm/Frontend/Offloading/Utility.h in LLVM 22 defines the layout and the flags. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct Entry {
  uint64_t reserved;
  uint16_t version;
  uint16_t kind;
  uint32_t flags;
  void *address; /* the kernel's stub or the variable's shadow */
  char *name;    /* on the device */
  uint64_t bytes; /* 0: a kernel */
  uint64_t data;
  void *pointer; /* address of the host's pointer to a managed variable */
};

/* The symbols of the linked units, and the kind of the entry that precedes each unit's entries and has the unit's
 * symbol as its address (unit.h). The section contains the entries of all units in the file, including those linked
 * into other modules. SUPERSTEP_NAMES is a file with one ENTRY(symbol) per line. */
#define ENTRY(symbol) ".globl " #symbol "\n.hidden " #symbol "\n" #symbol ": .byte 0\n"
__asm__(".pushsection .rodata\n"
        "superstep_units:\n"
#include SUPERSTEP_NAMES
        "superstep_units_end:\n"
        ".popsection");
extern const char superstep_units[] __attribute__((visibility("hidden")));
extern const char superstep_units_end[] __attribute__((visibility("hidden")));
enum { UNIT = 0x5353 };

enum { CUDA = 2, VARIABLE = 0, MANAGED = 1, KIND = 7, EXTERNAL = 1 << 3, CONSTANT = 1 << 4 };

extern struct Entry __start_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));
extern struct Entry __stop_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));

__attribute__((section(".nv_fatbin"), aligned(8))) static const char image[] = {
#embed SUPERSTEP_IMAGE
};

struct Wrapper {
  int32_t magic, version;
  const void *data;
  void *unused;
};

__attribute__((section(".nvFatBinSegment"), used)) static struct Wrapper wrapper = {0x466243b1, 1, image, NULL};

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **binary);
void __cudaUnregisterFatBinary(void **binary);
void __cudaRegisterFunction(void **binary, const char *stub, char *device, const char *name, int thread_limit, void *thread,
                            void *block, void *block_size, void *grid_size, int *warp_size);
void __cudaRegisterVar(void **binary, char *shadow, char *device, const char *name, int external, size_t bytes, int constant,
                       int global);
void __cudaRegisterManagedVar(void **binary, void **pointer, char *device, const char *name, int external, size_t bytes, int constant,
                              int global);

static void **binary;

static void unregister(void) { __cudaUnregisterFatBinary(binary); }

/* A template kernel or an inline variable has an entry in every unit that uses it. */
static int seen_before(const struct Entry *entry) {
  for (const struct Entry *other = __start_llvm_offload_entries; other != entry; ++other)
    if (other->kind == CUDA && other->address == entry->address) return 1;
  return 0;
}

static void register_variable(const struct Entry *entry) {
  int external = (entry->flags & EXTERNAL) != 0, constant = (entry->flags & CONSTANT) != 0;
  switch (entry->flags & KIND) {
  case VARIABLE:
    __cudaRegisterVar(binary, entry->address, entry->name, entry->name, external, entry->bytes, constant, 0);
    return;
  case MANAGED:
    __cudaRegisterManagedVar(binary, entry->pointer, entry->name, entry->name, external, entry->bytes, constant, 0);
    return;
  }
  fprintf(stderr, "superstep: failed to register %s: textures and surfaces in separately compiled device code are not supported\n",
          entry->name);
  abort();
}

__attribute__((constructor(101))) static void register_all(void) {
  int is_ours = 0;
  binary = __cudaRegisterFatBinary(&wrapper);
  for (const struct Entry *entry = __start_llvm_offload_entries; entry != __stop_llvm_offload_entries; ++entry) {
    const char *address = entry->address;
    if (entry->kind == UNIT) is_ours = address >= superstep_units && address < superstep_units_end;
    if (entry->kind != CUDA || !is_ours || seen_before(entry)) continue;
    if (entry->bytes == 0)
      __cudaRegisterFunction(binary, entry->address, entry->name, entry->name, -1, NULL, NULL, NULL, NULL, NULL);
    else
      register_variable(entry);
  }
  __cudaRegisterFatBinaryEnd(binary);
  atexit(unregister);
}
