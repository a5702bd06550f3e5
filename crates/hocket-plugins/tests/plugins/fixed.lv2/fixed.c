/* An LV2 plug-in for the tests that runs in blocks of one length alone, and ends the program in any other.
 *
 * Its output is its input times a gain, plus its side chain. A note adds 1 at its frame. The length is the one that all three
 * options say. The wide one has two channels, which it crosses, and adds its side chain to both. Structs as in the headers of LV2, which a machine need not have. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char *uri; void *data; } Feature;
typedef struct { void *handle; uint32_t (*map)(void *, const char *); } Map;
typedef struct { uint32_t context, subject, key, size, type; const void *value; } Option;
typedef struct { uint32_t size, type; } Atom;
typedef struct { int64_t frame; Atom body; } Event;

typedef struct {
  float *ports[5];
  const uint8_t *notes;
  uint32_t midi, length;
} Plugin;

#define BUF "http://lv2plug.in/ns/ext/buf-size#"

static uint32_t option(const Option *o, uint32_t key) {
  for (; o->key; o++) if (o->key == key) return *(const int32_t *)o->value;
  return 0;
}

static void *instantiate(const void *d, double rate, const char *path, const Feature *const *features) {
  (void)d, (void)rate, (void)path;
  const Map *map = NULL;
  const Option *options = NULL;
  int fixed = 0, power = 0;
  for (; *features; features++) {
    const Feature *f = *features;
    if (!strcmp(f->uri, "http://lv2plug.in/ns/ext/urid#map")) map = f->data;
    if (!strcmp(f->uri, "http://lv2plug.in/ns/ext/options#options")) options = f->data;
    fixed |= !strcmp(f->uri, BUF "fixedBlockLength");
    power |= !strcmp(f->uri, BUF "powerOf2BlockLength");
  }
  if (!map || !options || !fixed || !power) return NULL;
  uint32_t least = option(options, map->map(map->handle, BUF "minBlockLength"));
  uint32_t most = option(options, map->map(map->handle, BUF "maxBlockLength"));
  uint32_t nominal = option(options, map->map(map->handle, BUF "nominalBlockLength"));
  if (least != most || nominal != most || !most || (most & (most - 1))) return NULL;
  Plugin *p = calloc(1, sizeof *p);
  p->midi = map->map(map->handle, "http://lv2plug.in/ns/ext/midi#MidiEvent");
  p->length = most;
  return p;
}

static void connect(void *h, uint32_t port, void *data) {
  Plugin *p = h;
  if (port < 4) p->ports[port] = data;
  else p->notes = data;
}

static void check(const Plugin *p, uint32_t frames) {
  if (frames == p->length) return;
  fprintf(stderr, "the test plug-in: a run of %u frames\n", frames);
  abort();
}

static void run(void *h, uint32_t frames) {
  Plugin *p = h;
  check(p, frames);
  for (uint32_t i = 0; i < frames; i++) {
    /* Rounded twice on every machine. */
    volatile float product = p->ports[0][i] * *p->ports[3];
    p->ports[2][i] = product + p->ports[1][i];
  }
  const Atom *sequence = (const Atom *)p->notes;
  const uint8_t *at = p->notes + 16, *end = p->notes + 8 + sequence->size;
  while (at < end) {
    const Event *event = (const Event *)at;
    if (event->body.type == p->midi) p->ports[2][event->frame] += 1;
    at += 16 + ((event->body.size + 7) & ~7u);
  }
}

static void connect_wide(void *h, uint32_t port, void *data) {
  ((Plugin *)h)->ports[port] = data;
}

static void run_wide(void *h, uint32_t frames) {
  Plugin *p = h;
  check(p, frames);
  for (uint32_t i = 0; i < frames; i++) {
    p->ports[3][i] = p->ports[1][i] + p->ports[2][i];
    p->ports[4][i] = p->ports[0][i] + p->ports[2][i];
  }
}

static void cleanup(void *h) { free(h); }

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

const Descriptor *lv2_descriptor(uint32_t index) {
  static const Descriptor all[] = {
    { "urn:hocket:test:fixed", instantiate, connect, NULL, run, NULL, cleanup, NULL },
    { "urn:hocket:test:power", instantiate, connect, NULL, run, NULL, cleanup, NULL },
    { "urn:hocket:test:wide", instantiate, connect_wide, NULL, run_wide, NULL, cleanup, NULL },
  };
  return index < 3 ? &all[index] : NULL;
}
