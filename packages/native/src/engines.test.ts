import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gpuFacts } from './engines.js';
import { temporaryFolder } from './libtorch/test-support.js';

/** A driver with one GPU. */
const DRIVER = `
#include <string.h>
extern "C" {
int cuInit(unsigned flags) { return flags; }
int cuDeviceGet(int* device, int index) { *device = index; return index == 1 ? 0 : 101; }
int cuDeviceGetName(char* name, int length, int device) { strncpy(name, "A GPU of tests", length); return device != 1; }
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = 16 * i + i;
  return device != 1;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return device != 1; }
}
`;

it('asks the driver for the name, the id and the capability of a GPU', () => {
  using folder = temporaryFolder();
  const [source, driver] = [join(folder.path, 'driver.cpp'), join(folder.path, 'libdriver.so')];
  writeFileSync(source, DRIVER);
  execFileSync(process.env['CXX'] || 'g++', ['-shared', '-fPIC', '-o', driver, source]);
  expect(gpuFacts('cuda:1', driver)).toEqual({
    name: 'A GPU of tests',
    uuid: '00112233-4455-6677-8899-aabbccddeeff',
    capability: '9.0',
  });
  expect(gpuFacts('cuda:0', driver)).toBeUndefined();
  expect(gpuFacts('cpu', driver)).toBeUndefined();
  expect(gpuFacts('cuda:0', join(folder.path, 'none.so'))).toBeUndefined();
});
