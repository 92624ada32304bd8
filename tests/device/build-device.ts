import { lateLibrary } from './late-device.js';

/** Compiles the device once for all test files. */
export default function setup(): void {
  process.env['ACC_LATE_DEVICE'] ||= lateLibrary();
}
