/* Stands in for OpenGL's connection to X; see gl.h. */
#ifndef SUPERSTEP_GLX_H
#define SUPERSTEP_GLX_H

#include <GL/gl.h>

/* Asked before main begins by programs that may never draw: no function is there. */
static inline __attribute__((unused)) void (*glXGetProcAddress(const GLubyte *))(void) { return 0; }

#endif
