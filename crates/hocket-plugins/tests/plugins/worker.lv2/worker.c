/* An LV2 plug-in for the tests: a gain that its worker computes, and that is its state.
 *
 * A sample of 1.0 asks the worker, with an empty message; 2.0 with a number. The answer is the new gain. A call that must be
 * alone and is not ends the program. Structs as in the headers of LV2, which a machine need not have. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char *uri; void *data; } Feature;
typedef struct { void *handle; uint32_t (*map)(void *, const char *); } Map;
typedef struct { void *handle; uint32_t (*schedule)(void *, uint32_t, const void *); } Schedule;
typedef uint32_t (*Respond)(void *, uint32_t, const void *);
typedef uint32_t (*Store)(void *, uint32_t, const void *, size_t, uint32_t, uint32_t);
typedef const void *(*Retrieve)(void *, uint32_t, size_t *, uint32_t *, uint32_t *);

typedef struct {
  float *ports[4];
  const Map *map;
  const Schedule *schedule;
  float gain;
  int ended;
  _Atomic int working;
} Plugin;

static void *instantiate(const void *d, double rate, const char *path, const Feature *const *features) {
  (void)d, (void)rate, (void)path;
  Plugin *p = calloc(1, sizeof *p);
  p->gain = 1;
  for (; *features; features++) {
    if (!strcmp((*features)->uri, "http://lv2plug.in/ns/ext/urid#map")) p->map = (*features)->data;
    if (!strcmp((*features)->uri, "http://lv2plug.in/ns/ext/worker#schedule")) p->schedule = (*features)->data;
  }
  if (!p->map || !p->schedule) { free(p); return NULL; }
  return p;
}

static void connect(void *h, uint32_t port, void *data) { ((Plugin *)h)->ports[port] = data; }

static void run(void *h, uint32_t frames) {
  Plugin *p = h;
  for (uint32_t i = 0; i < frames; i++) {
    const float factor = 3;
    if (p->ports[0][i] == 1) p->schedule->schedule(p->schedule->handle, 0, NULL);
    if (p->ports[0][i] == 2) p->schedule->schedule(p->schedule->handle, sizeof factor, &factor);
    p->ports[2][i] = p->ports[0][i] * p->gain;
    p->ports[3][i] = p->ended;
  }
}

static void alone(Plugin *p, const char *call) {
  if (!p->working) return;
  fprintf(stderr, "the test plug-in: %s beside work\n", call);
  abort();
}

static void activate(void *h) {
  Plugin *p = h;
  alone(p, "activate");
  p->ended = 0;
}

static void deactivate(void *h) { alone(h, "deactivate"); }

/* Its ports are still connected. */
static void cleanup(void *h) {
  Plugin *p = h;
  alone(p, "cleanup");
  p->ports[3][0] = p->ports[0][0];
  free(p);
}

static uint32_t work(void *h, Respond respond, void *to, uint32_t size, const void *data) {
  Plugin *p = h;
  float gain = 0.5f;
  if (size == sizeof gain) memcpy(&gain, data, size);
  p->working++;
  uint32_t sent = respond(to, sizeof gain, &gain);
  p->working--;
  return sent;
}

static uint32_t response(void *h, uint32_t size, const void *data) {
  Plugin *p = h;
  if (size == sizeof p->gain) memcpy(&p->gain, data, size);
  return 0;
}

static uint32_t end_run(void *h) { ((Plugin *)h)->ended++; return 0; }

static uint32_t id(Plugin *p, const char *uri) { return p->map->map(p->map->handle, uri); }

static uint32_t save(void *h, Store store, void *to, uint32_t flags, const Feature *const *f) {
  (void)flags, (void)f;
  Plugin *p = h;
  uint32_t kind = id(p, "http://lv2plug.in/ns/ext/atom#Float");
  /* What is not plain bytes has to be refused: LV2_STATE_ERR_BAD_FLAGS. */
  if (store(to, id(p, "urn:hocket:test#pointer"), &p, sizeof p, kind, 0) != 3) return 1;
  return store(to, id(p, "urn:hocket:test#gain"), &p->gain, sizeof p->gain, kind, 3);
}

static uint32_t restore(void *h, Retrieve retrieve, void *from, uint32_t flags, const Feature *const *f) {
  (void)flags, (void)f;
  Plugin *p = h;
  size_t size = 0;
  uint32_t kind = 0, of = 0;
  const void *value = retrieve(from, id(p, "urn:hocket:test#gain"), &size, &kind, &of);
  if (!value || size != sizeof p->gain) return 5;
  memcpy(&p->gain, value, size);
  return 0;
}

static const void *extension(const char *uri) {
  static const struct { void *work, *response, *end; } worker = {(void *)work, (void *)response, (void *)end_run};
  static const struct { void *save, *restore; } state = {(void *)save, (void *)restore};
  if (!strcmp(uri, "http://lv2plug.in/ns/ext/worker#interface")) return &worker;
  if (!strcmp(uri, "http://lv2plug.in/ns/ext/state#interface")) return &state;
  return NULL;
}

typedef struct {
  const char *uri;
  void *(*instantiate)(const void *, double, const char *, const Feature *const *);
  void (*connect)(void *, uint32_t, void *);
  void (*activate)(void *);
  void (*run)(void *, uint32_t);
  void (*deactivate)(void *);
  void (*cleanup)(void *);
  const void *(*extension)(const char *);
} Descriptor;

static const Descriptor descriptor = {"urn:hocket:test:worker", instantiate, connect, activate, run, deactivate, cleanup, extension};

const Descriptor *lv2_descriptor(uint32_t index) { return index ? NULL : &descriptor; }
