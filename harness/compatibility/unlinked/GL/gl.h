/* Replaces OpenGL on machines without window and graphics libraries, to build programs for which drawing is optional. Nothing is drawn:
   a program that tries to draw exits with a message. For C++ and CUDA; C gets only types and constants. */
#ifndef SUPERSTEP_GL_H
#define SUPERSTEP_GL_H

#include <stdio.h>
#include <stdlib.h>

typedef unsigned int GLenum, GLbitfield, GLuint;
typedef unsigned char GLboolean, GLubyte;
typedef signed char GLbyte;
typedef short GLshort;
typedef unsigned short GLushort;
typedef int GLint, GLsizei;
typedef float GLfloat, GLclampf;
typedef double GLdouble, GLclampd;
typedef void GLvoid;

#ifdef __cplusplus
[[noreturn]] static inline void superstep_no_display(const char *function) {
    fprintf(stderr, "%s: there is no display; run the program in a mode that draws nothing\n", function);
    exit(EXIT_FAILURE);
}
/* Defines a library function that accepts any arguments. */
#define SUPERSTEP_NO_DISPLAY(RESULT, NAME) \
    static inline __attribute__((unused)) RESULT NAME(...) { superstep_no_display(#NAME); }
#else
#define SUPERSTEP_NO_DISPLAY(RESULT, NAME) /* Not in C, whose functions cannot accept arbitrary arguments. */
#endif

#define GL_FALSE 0
#define GL_TRUE 1
#define GL_ZERO 0
#define GL_ONE 1
#define GL_POINTS 0x0000
#define GL_LINES 0x0001
#define GL_LINE_LOOP 0x0002
#define GL_LINE_STRIP 0x0003
#define GL_TRIANGLES 0x0004
#define GL_TRIANGLE_STRIP 0x0005
#define GL_QUADS 0x0007
#define GL_DEPTH_BUFFER_BIT 0x0100
#define GL_COLOR_BUFFER_BIT 0x4000
#define GL_SRC_ALPHA 0x0302
#define GL_ONE_MINUS_SRC_ALPHA 0x0303
#define GL_ONE_MINUS_DST_COLOR 0x0307
#define GL_NO_ERROR 0
#define GL_INVALID_ENUM 0x0500
#define GL_INVALID_VALUE 0x0501
#define GL_INVALID_OPERATION 0x0502
#define GL_STACK_OVERFLOW 0x0503
#define GL_STACK_UNDERFLOW 0x0504
#define GL_OUT_OF_MEMORY 0x0505
#define GL_DEPTH_TEST 0x0B71
#define GL_BLEND 0x0BE2
#define GL_TEXTURE_2D 0x0DE1
#define GL_BYTE 0x1400
#define GL_UNSIGNED_BYTE 0x1401
#define GL_SHORT 0x1402
#define GL_UNSIGNED_SHORT 0x1403
#define GL_INT 0x1404
#define GL_UNSIGNED_INT 0x1405
#define GL_FLOAT 0x1406
#define GL_DOUBLE 0x140A
#define GL_MODELVIEW 0x1700
#define GL_PROJECTION 0x1701
#define GL_RGB 0x1907
#define GL_RGBA 0x1908
#define GL_LUMINANCE 0x1909
#define GL_VENDOR 0x1F00
#define GL_RENDERER 0x1F01
#define GL_VERSION 0x1F02
#define GL_EXTENSIONS 0x1F03
#define GL_NEAREST 0x2600
#define GL_LINEAR 0x2601
#define GL_LINEAR_MIPMAP_LINEAR 0x2703
#define GL_TEXTURE_MAG_FILTER 0x2800
#define GL_TEXTURE_MIN_FILTER 0x2801
#define GL_TEXTURE_WRAP_S 0x2802
#define GL_TEXTURE_WRAP_T 0x2803
#define GL_RGBA8 0x8058
#define GL_VERTEX_ARRAY 0x8074
#define GL_COLOR_ARRAY 0x8076
#define GL_INVALID_FRAMEBUFFER_OPERATION 0x0506

#define SUPERSTEP_VOID(NAME) SUPERSTEP_NO_DISPLAY(void, NAME)
SUPERSTEP_NO_DISPLAY(GLenum, glGetError)
SUPERSTEP_NO_DISPLAY(const GLubyte *, glGetString)
SUPERSTEP_VOID(glBegin) SUPERSTEP_VOID(glEnd) SUPERSTEP_VOID(glFlush) SUPERSTEP_VOID(glFinish)
SUPERSTEP_VOID(glBindTexture) SUPERSTEP_VOID(glGenTextures) SUPERSTEP_VOID(glDeleteTextures) SUPERSTEP_VOID(glTexEnvi)
SUPERSTEP_VOID(glTexImage2D) SUPERSTEP_VOID(glTexSubImage2D) SUPERSTEP_VOID(glTexParameteri) SUPERSTEP_VOID(glTexCoord2f)
SUPERSTEP_VOID(glTexCoordPointer) SUPERSTEP_VOID(glVertexPointer) SUPERSTEP_VOID(glColorPointer) SUPERSTEP_VOID(glDrawArrays)
SUPERSTEP_VOID(glDrawElements) SUPERSTEP_VOID(glEnableClientState) SUPERSTEP_VOID(glDisableClientState)
SUPERSTEP_VOID(glBlendFunc) SUPERSTEP_VOID(glClear) SUPERSTEP_VOID(glClearColor) SUPERSTEP_VOID(glColor3f)
SUPERSTEP_VOID(glColor3fv) SUPERSTEP_VOID(glColor4f) SUPERSTEP_VOID(glDepthMask) SUPERSTEP_VOID(glDisable) SUPERSTEP_VOID(glEnable)
SUPERSTEP_VOID(glLoadIdentity) SUPERSTEP_VOID(glMatrixMode) SUPERSTEP_VOID(glOrtho) SUPERSTEP_VOID(glPushMatrix)
SUPERSTEP_VOID(glPopMatrix) SUPERSTEP_VOID(glRotatef) SUPERSTEP_VOID(glScalef) SUPERSTEP_VOID(glTranslatef)
SUPERSTEP_VOID(glPointSize) SUPERSTEP_VOID(glRasterPos2f) SUPERSTEP_VOID(glRectf) SUPERSTEP_VOID(glReadPixels)
SUPERSTEP_VOID(glVertex2f) SUPERSTEP_VOID(glVertex3f) SUPERSTEP_VOID(glVertex3dv) SUPERSTEP_VOID(glVertex3fv)
SUPERSTEP_VOID(glViewport)

/* Types of newer functions, if the program ships glext.h. */
#if __has_include(<GL/glext.h>)
#include <GL/glext.h>
#endif

#endif
