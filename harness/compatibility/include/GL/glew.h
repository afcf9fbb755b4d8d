/* Replaces GLEW's header if it is not installed; declares only types. */
#include <GL/gl.h>
