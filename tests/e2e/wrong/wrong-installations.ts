import { MODEL, type WrongProgram } from './wrong-program.js';

/** Makes Node.js say that it has another version. */
const OLD_NODE =
  "--import=data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'18.20.8'}})";

/** Programs that need another installation, or another choice of packages. */
export const WRONG_INSTALLATIONS: readonly WrongProgram[] = [
  {
    name: 'a Node.js that is too old',
    ranks: 1,
    code: 'ACC_NODE_TOO_OLD',
    says: ['Node.js 18.20.8 is too old', 'Install Node.js 22 or 24'],
    never: ['it runs'],
    env: { NODE_OPTIONS: OLD_NODE },
    source: "console.log('it runs');",
  },
  {
    name: 'options of a tracker that is not in logWith',
    ranks: 1,
    isLate: true,
    code: 'ACC_UNKNOWN_OPTION',
    says: [
      "initTrackers has options for 'mlflow', which logWith does not name",
      "logWith: ['jsonl', 'mlflow']",
    ],
    source: `const accelerator = await Accelerator.create({ logWith: ['jsonl'] });
await accelerator.initTrackers('run', {}, { mlflow: {} }); // wrong`,
  },
  {
    name: 'a package that is not installed',
    ranks: 2,
    says: ['ERR_MODULE_NOT_FOUND', "Did you mean 'lodash'?"],
    never: ['node:internal', 'npm install'],
    files: { 'package.json': '{ "dependencies": { "lodash": "*" } }' },
    source: "import sum from 'lodsh'; // wrong\nsum();",
  },
  {
    name: 'a TypeScript module that cannot be compiled',
    ranks: 2,
    says: ['lines.mts:2:11: ERROR: Unexpected ";"', 'const y = ;\n', '          ^\n', '→ Correct'],
    never: ['esbuild', 'node:internal', 'lines.ts'],
    files: { 'lines.mts': 'const x: number = 1;\nconst y = ;\n' },
    source: "await import('tsx/esm/api').then(({ tsImport }) => tsImport('./lines.mts', import.meta.url));",
  },
  {
    name: 'an ES module that package.json calls CommonJS',
    ranks: 2,
    says: ['lines.js:1', 'Unexpected token', '→ A file with import, export', '"type": "module"'],
    files: { 'package.json': '{ "type": "commonjs" }', 'lines.js': 'export const x = 1;\n' },
    source: "await import('./lines.js');",
  },
  {
    name: 'a file that is no program',
    ranks: 2,
    isLate: true,
    says: ['ERR_UNKNOWN_FILE_EXTENSION', '                 ^\n', 'Read the file: readFileSync'],
    never: ['node:internal'],
    files: { 'data.csv': 'a,b\n' },
    source: "import data from './data.csv'; // wrong\ndata();",
  },
  {
    name: 'an await that never settles',
    ranks: 2,
    isLate: true,
    exitCode: 13,
    says: ['A top-level await never settled', 'ranks 0 and 1 of 2 failed'],
    source: 'await new Promise(() => {}); // wrong',
  },
  {
    name: 'a config file that is no YAML',
    ranks: 1,
    isLate: true,
    code: 'ACC_CONFIG_INVALID',
    says: ['is not valid YAML: Nested mappings', 'npx acc config --force'],
    never: ['caused by'],
    files: { 'acc.yaml': 'launch:\n nproc: 2\n  x: 1\n' },
    source: `const accelerator = await Accelerator.create(); // wrong`,
  },
  {
    name: 'a bound in quotes',
    ranks: 2,
    isLate: true,
    code: 'ACC_INVALID_ARGUMENT',
    says: ['clipGradNorm: the bound is "1"', 'without quotes'],
    source: `${MODEL}const { grads } = accelerator.backward(() => loss(tf.zeros([4, 2])));
accelerator.clipGradNorm(grads, '1'); // wrong`,
  },
  {
    name: 'a loop that does not wait for batches',
    ranks: 1,
    code: 'ACC_DATA_NOT_AWAITED',
    says: ['for await (const batch of loader)'],
    source: `const accelerator = await Accelerator.create();
const loader = accelerator.prepare(new DataLoader([1, 2, 3], { batchSize: 1 }));
for (const batch of loader) batch.dispose(); // wrong`,
  },
  {
    name: 'a checkpoint whose marker is empty',
    ranks: 2,
    code: 'ACC_CHECKPOINT_INVALID',
    says: ['ranks 0 and 1 of 2 failed'],
    never: ['On rank 0', 'failed, too'],
    source: `import { writeFileSync } from 'node:fs';
${MODEL}await accelerator.saveState('saved');
if (accelerator.isMainProcess) writeFileSync('saved/checkpoint.json', '');
await accelerator.waitForEveryone();
await accelerator.loadState('saved'); // wrong`,
  },
];
