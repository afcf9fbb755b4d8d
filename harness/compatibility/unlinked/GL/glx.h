/* Replaces GLX, OpenGL's interface to X11; see gl.h. */
#ifndef SUPERSTEP_GLX_H
#define SUPERSTEP_GLX_H

#include <GL/gl.h>

/* Called before main even by programs that never draw; always returns null. */
static inline __attribute__((unused)) void (*glXGetProcAddress(const GLubyte *))(void) { return 0; }

#endif
