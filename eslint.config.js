import js from '@eslint/js';
import { globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const typescript = ['**/*.ts'];
const scripts = ['**/*.{js,mjs,cjs}'];

/** A strategy states what it can do (`traits`); whoever compares its name or its class breaks every other strategy. */
const askTraits = 'Ask a strategy for its traits; never compare what it is.';

/** tfjs books such a tensor on the active backend, which may be another than that of its data. */
const unnamedBackend = {
  selector: 'CallExpression[callee.property.name=/^makeTensorFrom(TensorInfo|DataId)$/][arguments.length<2]',
  message: 'Name the backend that holds the data: the second argument, or AccBackend.tensorOf.',
};

/** See `valuesOf` of `contract`. */
const numbersFromTidy = {
  selector: ['> CallExpression.body', '> ArrayExpression.body > SpreadElement > CallExpression']
    .map((body) => `CallExpression[callee.name='tidy'] > ArrowFunctionExpression ${body}`)
    .map((call) => `${call}[callee.property.name='dataSync']`)
    .join(),
  message: 'tidy looks for tensors among the numbers: return the tensor, and read it by valuesOf.',
};
/** The rules for all packages. */
const everywhere = [unnamedBackend, numbersFromTidy];

/** The global names of this Node; TypeScript knows them from @types/node. */
const nodeGlobals = Object.fromEntries(
  Object.getOwnPropertyNames(globalThis).map((name) => [name, 'readonly']),
);

/** Comparisons of what a strategy is: its class, its name, or itself with a name. */
const strategyComparisons = [
  "BinaryExpression[operator='instanceof'][left.name=/strategy/i]",
  "BinaryExpression[operator='instanceof'][left.property.name=/strategy/i]",
  "BinaryExpression[operator='instanceof'][right.name=/strategy/i]",
  ...['BinaryExpression[operator=/^[!=]==?$/] >', 'SwitchStatement >'].flatMap((parent) => [
    `${parent} MemberExpression[property.name='name'][object.name=/strategy/i]`,
    `${parent} MemberExpression[property.name='name'][object.property.name=/strategy/i]`,
    `${parent} MemberExpression[property.name=/constructor/][object.name=/strategy/i]`,
  ]),
  'BinaryExpression[operator=/^[!=]==?$/][left.name=/strategy/i][right.type="Literal"]',
  'BinaryExpression[operator=/^[!=]==?$/][left.property.name=/strategy/i][right.type="Literal"]',
];

/** Functions of tfjs that draw from `Math.random`, or take their seed from it where they are given none. */
const draws = [
  'rand',
  'randomGamma',
  'randomNormal',
  'randomStandardNormal',
  'randomUniform',
  'randomUniformInt',
  'truncatedNormal',
  'multinomial',
  'dropout',
  'shuffle',
  'shuffleCombo',
];
const drawsOfTraining =
  'Math.random is the training’s stream of random numbers: whoever else draws from it changes the training. Use node:crypto, or a generator with a seed.';

export default tseslint.config(
  globalIgnores([
    '**/dist',
    '**/build',
    '**/node_modules',
    '**/coverage',
    '**/.turbo',
    '**/.venv',
    '.gpu',
    '.packed',
    'bench/results',
    'packages/tracker-tensorboard/src/generated',
    // What tsup makes of its configuration for a moment.
    '**/*.bundled_*.mjs',
  ]),
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: typescript,
    extends: [tseslint.configs.recommended],
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        // `typeof import(…)` is how a function takes a module as its argument.
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
      'prefer-const': ['error', { destructuring: 'all' }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  { files: scripts, languageOptions: { globals: nodeGlobals } },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { __filename: 'readonly', __dirname: 'readonly' } },
  },
  { files: ['packages/*/src/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...everywhere] } },
  {
    files: ['packages/*/src/**/*.{ts,mjs,js}'],
    ignores: [
      '**/*.test.ts',
      '**/testing/**',
      // They put a source with a state in its place.
      'packages/core/src/random/math-random.ts',
      'packages/tape/src/activation-checkpointing/same-random.ts',
      'packages/deterministic/src/random-ops.ts',
      // Draws of the training itself.
      'packages/kernels/src/functions/dropout.ts',
      'packages/kernels/src/kernels/Multinomial.ts',
      // It gives a seed.
      'packages/ddp/src/comm-hooks/power-sgd.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: drawsOfTraining },
        ...['tf', 'util'].flatMap((object) =>
          draws.map((property) => ({ object, property, message: drawsOfTraining })),
        ),
      ],
      'no-restricted-imports': [
        'error',
        ...['@tensorflow/tfjs-core', '@tensorflow/tfjs'].map((name) => ({
          name,
          importNames: draws,
          message: drawsOfTraining,
        })),
      ],
    },
  },
  {
    files: ['packages/core/src/**/*.ts'],
    // Where the user's name becomes an implementation.
    ignores: ['packages/core/src/presets/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...everywhere,
        ...strategyComparisons.map((selector) => ({ selector, message: askTraits })),
      ],
    },
  },
);
