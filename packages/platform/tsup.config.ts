import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: [
    ...base.entry,
    'src/doors.ts',
    'src/ending.ts',
    'src/node-version.ts',
    'src/ports.ts',
    'src/s3.ts',
    'src/uncaught.ts',
  ],
});
