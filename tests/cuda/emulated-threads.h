#pragma once

// What emulated-driver.cpp and the programs that it compiles share.

struct Dim3 {
  unsigned x, y, z;
};

/** The state that the driver shares with a program. Its current thread is the one that runs. */
struct Emulated {
  Dim3 thread, block, grid;
  void (*wait)();
  float (*exchange)(float, int);
};
