/* Replaces the header of this name if there is none: types only. */
#include <GL/gl.h>
