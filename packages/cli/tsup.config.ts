import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: {
    index: 'src/index.ts',
    acc: 'src/acc.ts',
    'launch/report-errors': 'src/launch/report-errors.ts',
    'launch/function/run-function': 'src/launch/function/run-function.ts',
  },
});
