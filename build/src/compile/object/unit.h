/* Included first in the host code of each linked unit: adds an entry that refers to the symbol SUPERSTEP_UNIT, ahead of
 * the unit's own entries (linked.c). */

#define SUPERSTEP_TEXT(word) #word
#define SUPERSTEP_NAME(word) SUPERSTEP_TEXT(word)

/* Reserved, version, kind, flags, address. */
__asm__(".pushsection llvm_offload_entries,\"aw\",@progbits\n"
        ".p2align 3\n"
        ".quad 0\n"
        ".short 1, 0x5353\n"
        ".long 0\n"
        ".hidden " SUPERSTEP_NAME(SUPERSTEP_UNIT) "\n"
        ".quad " SUPERSTEP_NAME(SUPERSTEP_UNIT) "\n"
        ".quad 0, 0, 0, 0\n"
        ".popsection");

#undef SUPERSTEP_TEXT
#undef SUPERSTEP_NAME
