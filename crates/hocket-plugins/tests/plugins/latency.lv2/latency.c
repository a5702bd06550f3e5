/* An LV2 plug-in for the tests that reports a latency, so that its description needs an instance. Its output is its input. Structs as
 * in the headers of LV2, which a machine need not have. */
#include <stdint.h>
#include <stdlib.h>

typedef struct { float *ports[3]; } Plugin;

static void *instantiate(const void *d, double rate, const char *path, const void *const *features) {
  (void)d, (void)rate, (void)path, (void)features;
  return calloc(1, sizeof(Plugin));
}

static void connect(void *h, uint32_t port, void *data) { ((Plugin *)h)->ports[port] = data; }

static void run(void *h, uint32_t frames) {
  float **p = ((Plugin *)h)->ports;
  for (uint32_t i = 0; i < frames; i++) p[1][i] = p[0][i];
  *p[2] = 7;
}

typedef struct {
  const char *uri;
  void *(*instantiate)(const void *, double, const char *, const void *const *);
  void (*connect)(void *, uint32_t, void *);
  void (*activate)(void *);
  void (*run)(void *, uint32_t);
  void (*deactivate)(void *);
  void (*cleanup)(void *);
  const void *(*extension)(const char *);
} Descriptor;

static const Descriptor descriptor = {"urn:hocket:test:latency", instantiate, connect, NULL, run, NULL, free, NULL};

const Descriptor *lv2_descriptor(uint32_t index) { return index ? NULL : &descriptor; }
