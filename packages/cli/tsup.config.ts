import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

const uplot = dirname(createRequire(import.meta.url).resolve('uplot/package.json'));
const { version } = JSON.parse(readFileSync(join(uplot, 'package.json'), 'utf8')) as { version: string };
const licence = `/*! With uPlot ${version}.\n${readFileSync(join(uplot, 'LICENSE'), 'utf8')}*/`;

export default defineConfig([
  {
    ...base,
    entry: {
      index: 'src/index.ts',
      acc: 'src/acc.ts',
      'launch/report-errors': 'src/launch/report-errors.ts',
      'launch/function/run-function': 'src/launch/function/run-function.ts',
    },
  },
  {
    // The page of `acc monitor`, with all that it needs.
    entry: { 'monitor/page': 'src/monitor/page/main.ts', 'monitor/style': 'src/monitor/page/style.css' },
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    noExternal: [/./],
    splitting: false,
    minify: true,
    banner: { js: licence, css: licence },
    clean: false,
    silent: true,
  },
]);
