import { lateLibrary } from './late-device.js';

console.log(lateLibrary());
