/* Replaces the window library GLUT; see gl.h. */
#include <GL/freeglut.h>
