/* Replaces the CUDA samples' header of the same name for programs that do not ship it: a stopwatch in milliseconds. */
#ifndef SUPERSTEP_HELPER_TIMER_H
#define SUPERSTEP_HELPER_TIMER_H

#include <chrono>

class StopWatchInterface {
  public:
    void start() { begin = std::chrono::steady_clock::now(); running = true; }
    void stop() {
        total += running_time();
        sections += running ? 1 : 0;
        running = false;
    }
    void reset() {
        total = 0;
        sections = 0;
        begin = std::chrono::steady_clock::now();
    }
    float time() const { return total + running_time(); }
    float average() const { return sections > 0 ? total / sections : 0; }

  private:
    float running_time() const {
        return running ? std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count() : 0;
    }
    std::chrono::steady_clock::time_point begin{};
    float total = 0;
    int sections = 0;
    bool running = false;
};

inline bool sdkCreateTimer(StopWatchInterface **timer) { *timer = new StopWatchInterface; return true; }
inline bool sdkDeleteTimer(StopWatchInterface **timer) { delete *timer; *timer = nullptr; return true; }
inline bool sdkStartTimer(StopWatchInterface **timer) { (*timer)->start(); return true; }
inline bool sdkStopTimer(StopWatchInterface **timer) { (*timer)->stop(); return true; }
inline bool sdkResetTimer(StopWatchInterface **timer) { (*timer)->reset(); return true; }
inline float sdkGetTimerValue(StopWatchInterface **timer) { return (*timer)->time(); }
inline float sdkGetAverageTimerValue(StopWatchInterface **timer) { return (*timer)->average(); }

#endif
