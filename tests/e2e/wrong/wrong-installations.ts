import type { WrongProgram } from './wrong-program.js';

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
];
