/* The stub that executables and shared libraries contain in place of libcudart. Each function of the CUDA runtime jumps
 * through a slot that its first call fills, so the same executable runs with any of Superstep's runtimes. Compiled once
 * per installation. SUPERSTEP_NAMES is the file with the list of functions, and SUPERSTEP_RUNTIME the library to use if
 * the environment variable of that name is not set. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(name) #name,
static const char *const names[] = {
#include SUPERSTEP_NAMES
};
#undef ENTRY

enum { COUNT = sizeof names / sizeof *names, LIBRARIES = 4 };

/* Returns the function `name` from the first library that has it. */
static void *find(const char *name) {
  static void *libraries[LIBRARIES];
  const char *list = getenv("SUPERSTEP_RUNTIME");
  if (!list || !*list) list = SUPERSTEP_RUNTIME;
  for (int i = 0; i < LIBRARIES && *list; ++i) {
    size_t bytes = strcspn(list, ":");
    if (!libraries[i]) {
      char *path = strndup(list, bytes);
      /* Modules loaded later find the runtime among the global symbols. A library is loaded only once. */
      libraries[i] = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
      free(path);
      if (!libraries[i]) {
        fprintf(stderr, "superstep: failed to load the CUDA runtime: %s; set SUPERSTEP_RUNTIME to the libraries to use\n", dlerror());
        exit(70);
      }
    }
    list += bytes + (list[bytes] == ':');
  }
  for (int i = 0; i < LIBRARIES && libraries[i]; ++i) {
    void *function = dlsym(libraries[i], name);
    if (function) return function;
  }
  /* The CPU runtime records the name in the capture before it terminates the program. */
  void (*unsupported)(const char *) = (void (*)(const char *))dlsym(libraries[0], "__superstep_unsupported");
  if (unsupported) unsupported(name);
  fprintf(stderr, "superstep: no loaded CUDA runtime provides %s\n", name);
  exit(70);
}

/* Restores the program name set by the runner, since the start script cannot pass it on. Children keep their own. */
__attribute__((constructor)) static void take_name(int argc, char **argv) {
  const char *name = getenv("SUPERSTEP_NAME");
  if (!name) return;
  if (argc > 0) program_invocation_name = argv[0] = strdup(name);
  unsetenv("SUPERSTEP_NAME");
}

__attribute__((visibility("hidden"))) extern void *superstep_slots[COUNT];

/* Resolves a function on its first call. Concurrent calls find the same address. */
__attribute__((visibility("hidden"), used)) void *superstep_resolve(unsigned long number) {
  void *function = find(names[number]);
  __atomic_store_n(&superstep_slots[number], function, __ATOMIC_RELAXED);
  return function;
}

/* Preserves all argument registers. At a function's entry, the stack is 8 bytes off a 16-byte boundary, as it is
 * after the number and seven registers have been pushed. */
__asm__(".text\n"
        ".Lresolve:\n"
        "  push %rax; push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9\n"
        "  sub $136, %rsp\n"
        "  movaps %xmm0, (%rsp); movaps %xmm1, 16(%rsp); movaps %xmm2, 32(%rsp); movaps %xmm3, 48(%rsp)\n"
        "  movaps %xmm4, 64(%rsp); movaps %xmm5, 80(%rsp); movaps %xmm6, 96(%rsp); movaps %xmm7, 112(%rsp)\n"
        "  mov 192(%rsp), %rdi\n"
        "  call superstep_resolve\n"
        "  mov %rax, %r11\n"
        "  movaps (%rsp), %xmm0; movaps 16(%rsp), %xmm1; movaps 32(%rsp), %xmm2; movaps 48(%rsp), %xmm3\n"
        "  movaps 64(%rsp), %xmm4; movaps 80(%rsp), %xmm5; movaps 96(%rsp), %xmm6; movaps 112(%rsp), %xmm7\n"
        "  add $136, %rsp\n"
        "  pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi; pop %rax\n"
        "  add $8, %rsp\n"
        "  jmp *%r11\n"
        ".data\n"
        ".balign 8\n"
        ".hidden superstep_slots\n"
        ".globl superstep_slots\n"
        "superstep_slots:\n"
        ".set number, 0\n"
        ".macro entry name\n"
        "  .text\n"
        "  .globl \\name\n"
        "  .hidden \\name\n"
        "  .type \\name, @function\n"
        "\\name: jmp *superstep_slots+8*number(%rip)\n"
        ".Lfirst_\\name: pushq $number\n"
        "  jmp .Lresolve\n"
        "  .size \\name, . - \\name\n"
        "  .data\n"
        "  .quad .Lfirst_\\name\n"
        "  .set number, number + 1\n"
        ".endm\n"
#define ENTRY(name) "entry " #name "\n"
#include SUPERSTEP_NAMES
        ".text\n");
