/* Replaces the window library GLUT; see gl.h. */
#ifndef SUPERSTEP_FREEGLUT_H
#define SUPERSTEP_FREEGLUT_H

#include <GL/gl.h>
#include <GL/glu.h>

#define GLUT_RGB 0x0000
#define GLUT_RGBA 0x0000
#define GLUT_DOUBLE 0x0002
#define GLUT_DEPTH 0x0010
#define GLUT_LEFT_BUTTON 0
#define GLUT_MIDDLE_BUTTON 1
#define GLUT_RIGHT_BUTTON 2
#define GLUT_DOWN 0
#define GLUT_UP 1
#define GLUT_KEY_LEFT 0x0064
#define GLUT_KEY_UP 0x0065
#define GLUT_KEY_RIGHT 0x0066
#define GLUT_KEY_DOWN 0x0067
#define GLUT_KEY_HOME 0x006A
#define GLUT_KEY_END 0x006B
#define GLUT_ACTIVE_SHIFT 0x0001
#define GLUT_ACTIVE_CTRL 0x0002
#define GLUT_ACTIVE_ALT 0x0004
#define GLUT_WINDOW_WIDTH 0x0066
#define GLUT_WINDOW_HEIGHT 0x0067
#define GLUT_BITMAP_9_BY_15 ((void *)2)
#define GLUT_BITMAP_8_BY_13 ((void *)3)
#define GLUT_BITMAP_TIMES_ROMAN_24 ((void *)5)

SUPERSTEP_NO_DISPLAY(int, glutCreateWindow)
SUPERSTEP_NO_DISPLAY(int, glutGet)
SUPERSTEP_NO_DISPLAY(int, glutGetModifiers)
SUPERSTEP_VOID(glutInit) SUPERSTEP_VOID(glutInitDisplayMode) SUPERSTEP_VOID(glutInitWindowSize) SUPERSTEP_VOID(glutDestroyWindow)
SUPERSTEP_VOID(glutMainLoop) SUPERSTEP_VOID(glutPostRedisplay) SUPERSTEP_VOID(glutSwapBuffers) SUPERSTEP_VOID(glutReportErrors)
SUPERSTEP_VOID(glutFullScreen) SUPERSTEP_VOID(glutSetWindowTitle) SUPERSTEP_VOID(glutBitmapCharacter)
SUPERSTEP_VOID(glutDisplayFunc) SUPERSTEP_VOID(glutReshapeFunc) SUPERSTEP_VOID(glutMouseFunc) SUPERSTEP_VOID(glutMotionFunc)
SUPERSTEP_VOID(glutKeyboardFunc) SUPERSTEP_VOID(glutSpecialFunc) SUPERSTEP_VOID(glutIdleFunc) SUPERSTEP_VOID(glutTimerFunc)

#endif
