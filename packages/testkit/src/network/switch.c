/* A network switch as a program, whose ports are TAP devices: frames that come in at one port go out at another, later or not at
 * all, as each port's cable has it. Kernels have this (tc netem), but not all of them.
 *
 * switch PORTS: writes the devices' names, a line each, and then obeys lines on stdin, each answered by a line `ok`:
 *   PORT DELAY_MICROSECONDS LOSS_PER_MILLION MEGABITS_PER_SECOND (0: no limit)
 *   PORT cut | PORT mend
 * It ends with its stdin. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PORTS = 256, MOST_BYTES = 70000, MOST_ADDRESSES = 4096, HEADER = 10 };
static const int64_t SECOND = 1000000000;
/* Of a cable with a limit: what would have to wait longer than this is dropped. */
static const int64_t LONGEST_QUEUE = 200000000;

struct port {
  int fd;
  int is_cut;
  int64_t delay;
  uint32_t loss;
  int64_t megabits;
  /* When what was sent last has left, each way. */
  int64_t busy[2];
};

struct frame {
  int64_t due;
  int64_t order;
  int port;
  size_t size;
  unsigned char bytes[];
};

static struct port ports[MOST_PORTS];
static int port_count;
static struct { unsigned char address[6]; int port; } addresses[MOST_ADDRESSES];
static struct frame **heap;
static size_t heap_size, heap_room;
static int64_t frames;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * SECOND + time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void open_port(struct port *port) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  /* With headers that let the kernel hand over more than one packet's worth at a time. */
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  strcpy(request.ifr_name, "acc%d");
  port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (port->fd < 0) fail("/dev/net/tun");
  if (ioctl(port->fd, TUNSETIFF, &request) < 0) fail("TUNSETIFF");
  if (ioctl(port->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0) fail("TUNSETOFFLOAD");
  printf("%s\n", request.ifr_name);
}

static int is_before(const struct frame *a, const struct frame *b) {
  return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void push(struct frame *frame) {
  if (heap_size == heap_room) {
    heap_room = heap_room ? 2 * heap_room : 1024;
    heap = realloc(heap, heap_room * sizeof *heap);
    if (!heap) fail("realloc");
  }
  size_t at = heap_size++;
  while (at > 0 && is_before(frame, heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = frame;
}

static struct frame *pop(void) {
  struct frame *first = heap[0];
  struct frame *last = heap[--heap_size];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap_size) break;
    if (child + 1 < heap_size && is_before(heap[child + 1], heap[child])) ++child;
    if (!is_before(heap[child], last)) break;
    heap[at] = heap[child];
    at = child;
  }
  if (heap_size > 0) heap[at] = last;
  return first;
}

/* When a frame that enters a cable at `time` leaves it; -1: never. */
static int64_t pass(struct port *port, int way, int64_t time, size_t size) {
  if (port->is_cut || (port->loss && (uint32_t)(drand48() * 1000000) < port->loss)) return -1;
  if (port->megabits) {
    const int64_t start = port->busy[way] > time ? port->busy[way] : time;
    if (start - time > LONGEST_QUEUE) return -1;
    time = port->busy[way] = start + (int64_t)size * 8000 / port->megabits;
  }
  return time + port->delay;
}

static int slot_of(const unsigned char *address) {
  return ((address[3] * 31 + address[4]) * 31 + address[5]) % MOST_ADDRESSES;
}

static void send_later(int to, int64_t time, const unsigned char *bytes, size_t size) {
  const int64_t due = pass(&ports[to], 1, time, size);
  if (due < 0) return;
  struct frame *frame = malloc(sizeof *frame + size);
  if (!frame) fail("malloc");
  frame->due = due;
  frame->order = frames++;
  frame->port = to;
  frame->size = size;
  memcpy(frame->bytes, bytes, size);
  push(frame);
}

static void take_in(int from) {
  static unsigned char bytes[MOST_BYTES];
  /* Not for ever: others want their turn. */
  for (int i = 0; i < 64; ++i) {
    const ssize_t size = read(ports[from].fd, bytes, sizeof bytes);
    if (size < HEADER + 14) return;
    const unsigned char *target = bytes + HEADER;
    const unsigned char *source = target + 6;
    const int64_t time = pass(&ports[from], 0, now(), (size_t)size);
    if (time < 0) continue;
    memcpy(addresses[slot_of(source)].address, source, 6);
    addresses[slot_of(source)].port = from;
    const int slot = slot_of(target);
    const int is_known = !(target[0] & 1) && memcmp(addresses[slot].address, target, 6) == 0;
    for (int to = 0; to < port_count; ++to) {
      if (to != from && (!is_known || to == addresses[slot].port)) send_later(to, time, bytes, (size_t)size);
    }
  }
}

static void give_out(void) {
  const int64_t time = now();
  while (heap_size > 0 && heap[0]->due <= time) {
    struct frame *frame = pop();
    /* A device that takes nothing, being down or full, loses it, as a cable's end does. */
    if (write(ports[frame->port].fd, frame->bytes, frame->size) < 0) { }
    free(frame);
  }
}

static void obey(char *line) {
  int port = 0, at = 0;
  long long delay = 0, loss = 0, megabits = 0;
  if (sscanf(line, "%d %n", &port, &at) != 1 || port < 0 || port >= port_count) return;
  struct port *changed = &ports[port];
  if (strncmp(line + at, "cut", 3) == 0) changed->is_cut = 1;
  else if (strncmp(line + at, "mend", 4) == 0) changed->is_cut = 0;
  else if (sscanf(line + at, "%lld %lld %lld", &delay, &loss, &megabits) == 3) {
    changed->delay = delay * 1000;
    changed->loss = (uint32_t)loss;
    changed->megabits = megabits;
  }
  printf("ok\n");
}

/* Whole lines of stdin. */
static void listen_to_stdin(void) {
  static char line[256];
  static size_t used;
  for (char byte; read(0, &byte, 1) == 1;) {
    if (byte != '\n' && used + 1 < sizeof line) {
      line[used++] = byte;
      continue;
    }
    line[used] = '\0';
    used = 0;
    obey(line);
    return;
  }
  exit(0);
}

int main(int count, char **arguments) {
  static struct pollfd waits[MOST_PORTS + 1];
  port_count = count == 2 ? atoi(arguments[1]) : 0;
  if (port_count < 1 || port_count > MOST_PORTS) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < port_count; ++i) open_port(&ports[i]);
  for (int i = 0; i < port_count; ++i) waits[i] = (struct pollfd){ports[i].fd, POLLIN, 0};
  waits[port_count] = (struct pollfd){0, POLLIN, 0};
  for (;;) {
    struct timespec rest = {0, 0};
    const int64_t wait = heap_size > 0 ? heap[0]->due - now() : SECOND;
    if (wait > 0) rest = (struct timespec){wait / SECOND, wait % SECOND};
    ppoll(waits, (nfds_t)port_count + 1, &rest, NULL);
    for (int i = 0; i < port_count; ++i) {
      if (waits[i].revents) take_in(i);
    }
    if (waits[port_count].revents) listen_to_stdin();
    give_out();
  }
}
