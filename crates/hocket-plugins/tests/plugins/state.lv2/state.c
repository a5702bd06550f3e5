/* An LV2 plug-in for the tests that puts out the level of its state. At a level of 0 it saves nothing, and it refuses a state
 * without a level. Structs as in the headers of LV2, which a machine need not have. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, NO_PROPERTY = 5, PLAIN = 3 };

typedef struct { const char *uri; void *data; } Feature;
typedef struct { void *handle; uint32_t (*map)(void *, const char *); } Map;
typedef int (*Store)(void *, uint32_t, const void *, size_t, uint32_t, uint32_t);
typedef const void *(*Retrieve)(void *, uint32_t, size_t *, uint32_t *, uint32_t *);
typedef struct { float *out, level; uint32_t key, kind; } Plugin;

static void *instantiate(const void *d, double rate, const char *path, const Feature *const *features) {
  (void)d, (void)rate, (void)path;
  for (; *features; features++) {
    if (strcmp((*features)->uri, "http://lv2plug.in/ns/ext/urid#map") == 0) {
      const Map *map = (*features)->data;
      Plugin *plugin = calloc(1, sizeof(Plugin));
      plugin->key = map->map(map->handle, "urn:hocket:test:state#level");
      plugin->kind = map->map(map->handle, "http://lv2plug.in/ns/ext/atom#Float");
      return plugin;
    }
  }
  return NULL;
}

static void connect(void *h, uint32_t port, void *data) { (void)port, ((Plugin *)h)->out = data; }

static void run(void *h, uint32_t frames) {
  const Plugin *p = h;
  for (uint32_t i = 0; i < frames; i++) p->out[i] = p->level;
}

static int save(void *h, Store store, void *to, uint32_t flags, const Feature *const *features) {
  (void)flags, (void)features;
  Plugin *p = h;
  return p->level == 0 ? DONE : store(to, p->key, &p->level, sizeof(float), p->kind, PLAIN);
}

static int restore(void *h, Retrieve retrieve, void *from, uint32_t flags, const Feature *const *features) {
  (void)flags, (void)features;
  Plugin *p = h;
  size_t size = 0;
  uint32_t kind = 0, of_value = 0;
  const float *level = retrieve(from, p->key, &size, &kind, &of_value);
  if (!level || size != sizeof(float) || kind != p->kind) return NO_PROPERTY;
  p->level = *level;
  return DONE;
}

static const void *extension(const char *uri) {
  static const struct {
    int (*save)(void *, Store, void *, uint32_t, const Feature *const *);
    int (*restore)(void *, Retrieve, void *, uint32_t, const Feature *const *);
  } state = {save, restore};
  return strcmp(uri, "http://lv2plug.in/ns/ext/state#interface") ? NULL : &state;
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

static const Descriptor descriptor = {"urn:hocket:test:state", instantiate, connect, NULL, run, NULL, free, extension};

const Descriptor *lv2_descriptor(uint32_t index) { return index ? NULL : &descriptor; }
