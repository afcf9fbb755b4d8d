// Only the launch into which the error is injected has the probe; all other launches run unmodified.
extern "C" int initialise(const superstep_launch *launch, unsigned long long *parameters) {
  return launch->stream == 0 && launch->launch == parameters[0];
}
