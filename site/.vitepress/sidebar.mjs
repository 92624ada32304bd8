import {
  designedPackages,
  filesUnder,
  read,
  documentedPackages,
  packageFolders,
  packageName,
  root,
} from '../scripts/repository.mjs';

const LEARN = [
  ['Tutorial', '/learn/tutorial'],
  ['Recipes', '/learn/recipes'],
  ['Which strategy?', '/learn/which-strategy'],
  ['Questions', '/learn/faq'],
  ['Exercise: fsdp', '/learn/exercise-fsdp'],
  ['Exercise: from DeepSpeed', '/learn/exercise-deepspeed'],
  ['Exercise: CNN and scaling', '/learn/exercise-cnn'],
];

const GUIDE = [
  ['Data', '/guide/data'],
  ['Mixed precision', '/guide/mixed-precision'],
  ['Gradient accumulation', '/guide/accumulation'],
  ['Compiled steps', '/guide/compile'],
  ['Sharding', '/guide/sharding'],
  ['Tensor parallel', '/guide/tensor-parallel'],
  ['Long sequences', '/guide/long-sequences'],
  ['Pipeline parallel', '/guide/pipeline'],
  ['Mixtures of experts', '/guide/experts'],
  ['Attention', '/guide/attention'],
  ['Checkpoints', '/guide/checkpoints'],
  ['Trackers', '/guide/trackers'],
  ['Launch and clusters', '/guide/launch'],
  ['Settings', '/guide/settings'],
  ['Transformers', '/packages/transformer'],
  ['Engines', '/guide/engines'],
  ['In a browser', '/guide/browser'],
  ['Federated training', '/guide/federated'],
  ['When k ranks equal one', '/guide/k-ranks'],
  ['Examples', '/guide/examples'],
  ['Programs of tfjs-examples', '/guide/tfjs-examples'],
];

const CONCEPTS = [
  ['Data parallelism', '/concepts/data-parallel'],
  ['Sharding: ZeRO', '/concepts/zero'],
  ['The way of a step', '/concepts/step'],
  ['Ranks, hosts and meshes', '/concepts/mesh'],
  ['What goes together', '/concepts/together'],
];

const COMING_FROM = [
  ['Hugging Face Accelerate', '/coming-from/accelerate'],
  ['Plain tfjs', '/coming-from/tfjs'],
  ['tfjs-node', '/coming-from/tfjs-node'],
  ['PyTorch', '/coming-from/pytorch'],
];

const ERRORS = [
  ['All codes', '/errors/'],
  ['Options and settings', '/errors/options'],
  ['Setup', '/errors/setup'],
  ['Command line, launch', '/errors/launch'],
  ['Communication', '/errors/collectives'],
  ['Training steps', '/errors/training'],
  ['Data', '/errors/data'],
  ['Checkpoints, storages', '/errors/checkpoints'],
  ['Sharding, large models', '/errors/sharding'],
  ['Pipelines', '/errors/pipeline'],
  ['Kernels and tensors', '/errors/kernels'],
  ['Trackers', '/errors/trackers'],
  ['Federated training', '/errors/federated'],
  ['Transformers', '/errors/transformers'],
  ['Test kit', '/errors/testkit'],
];

const HOW_TO_WRITE = [
  ['A tracker', '/write/tracker'],
  ['A tracker in an hour', '/write/tracker-guide'],
  ['A strategy', '/write/strategy'],
  ['A kernel', '/write/kernel'],
];

const PROJECT = [
  ['Versions, upgrades, licence', '/project/versions'],
  ['Changelog', '/project/changelog'],
  ['Architecture', '/project/architecture'],
  ['Packages', '/project/packages'],
  ['Contributing', '/project/contributing'],
  ['Benchmarks', '/project/bench'],
  ['Security', '/project/security'],
];

/** One list for all pages, so that every page is in reach of every other. */
export function sidebar() {
  const packages = packageFolders.map((folder) => [packageName(folder), `/packages/${folder}`]);
  const designs = designedPackages.map((folder) => [packageName(folder), `/design/${folder}`]);
  const api = documentedPackages.map((folder) => [packageName(folder), `/api/${folder}`]);
  return [
    { text: 'Start', link: '/start' },
    group('Learn', LEARN),
    group('Guide', GUIDE),
    group('Concepts', CONCEPTS),
    group('Coming from', COMING_FROM),
    { text: 'Performance', link: '/performance' },
    group('Troubleshooting', [...ERRORS, ...otherErrors()], true),
    group('How to write', HOW_TO_WRITE),
    group('Packages', packages, true),
    group('API from the types', [['All packages', '/api/'], ...api], true),
    group('Project', PROJECT, true),
    group('How packages work', designs, true),
  ];
}

/** Pages on errors that have no short name above, by their titles. */
function otherErrors() {
  const pages = filesUnder(`${root}/site/docs/errors`).map((path) => path.replace(/(index)?\.md$/, ''));
  return pages
    .map((page) => `/errors/${page}`)
    .filter((link) => !ERRORS.some(([, known]) => known === link))
    .map((link) => [/^# (.*)$/m.exec(read(`site/docs${link}.md`))[1], link]);
}

function group(text, items, collapsed = false) {
  return { text, collapsed, items: items.map(([name, link]) => ({ text: name, link })) };
}
