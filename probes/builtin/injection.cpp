// Only the launch that the error is injected into has the probe: all others run as they are.
extern "C" int initialise(const superstep_launch *launch, unsigned long long *parameters) {
  return launch->stream == 0 && launch->launch == parameters[0];
}
