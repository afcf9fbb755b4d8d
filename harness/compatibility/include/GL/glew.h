/* Replaces GLEW's header if it is not installed; declares no GLEW functions. */
#include <GL/gl.h>
