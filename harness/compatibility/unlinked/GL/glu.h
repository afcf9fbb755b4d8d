/* Replaces OpenGL's utilities; see gl.h. */
#ifndef SUPERSTEP_GLU_H
#define SUPERSTEP_GLU_H

#include <GL/gl.h>

SUPERSTEP_NO_DISPLAY(const GLubyte *, gluErrorString)
SUPERSTEP_VOID(gluPerspective) SUPERSTEP_VOID(gluLookAt) SUPERSTEP_VOID(gluOrtho2D)

#endif
