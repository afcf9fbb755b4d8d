/* Stands in for OpenGL's header where there is none: its types only, which other headers mention. Nothing can be drawn. */
#ifndef SUPERSTEP_GL_H
#define SUPERSTEP_GL_H

typedef unsigned int GLenum;
typedef unsigned int GLuint;
typedef int GLint;
typedef int GLsizei;
typedef float GLfloat;
typedef double GLdouble;
typedef unsigned char GLubyte;
typedef unsigned char GLboolean;
typedef void GLvoid;

#endif
