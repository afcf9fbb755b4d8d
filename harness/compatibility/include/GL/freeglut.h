/* Stands in for the header of this name where there is none: types only. */
#include <GL/gl.h>
