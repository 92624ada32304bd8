import { existsSync } from 'node:fs';
import { apiLink, usesOfCore } from '../scripts/api/uses.mjs';
import {
  designedPackages,
  filesUnder,
  read,
  documentedPackages,
  packageFolders,
  packageName,
  root,
} from '../scripts/repository.mjs';

const BEGIN = [
  ['Get started', '/start'],
  ['Install', '/install'],
  ['Supported systems', '/support'],
  ['Tutorial', '/learn/tutorial'],
  ['Which strategy?', '/learn/which-strategy'],
  ['Questions', '/learn/faq'],
];

const RECIPES = [
  ['Recipes', '/learn/recipes'],
  ['Exercise: fsdp', '/learn/exercise-fsdp'],
  ['Exercise: from DeepSpeed', '/learn/exercise-deepspeed'],
  ['Exercise: CNN and scaling', '/learn/exercise-cnn'],
];

const TRAIN = [
  ['Data', '/guide/data'],
  ['Mixed precision', '/guide/mixed-precision'],
  ['Gradient accumulation', '/guide/accumulation'],
  ['Checkpoints and resuming', '/guide/checkpoints'],
  ['Trackers', '/guide/trackers'],
  ['Faster steps: compile', '/guide/compile'],
  ['Where the time goes', '/guide/profile'],
  ['My run is slow', '/guide/slow-run'],
  ['Diagnose a slow run', '/guide/diagnose'],
  ['How a program scales', '/guide/scale-study'],
  ['Watch a run', '/guide/monitor'],
  ['Launch and clusters', '/guide/launch'],
  ['Settings', '/guide/settings'],
];

const LARGE_MODELS = [
  ['Sharding (FSDP, ZeRO)', '/guide/sharding'],
  ['Tensor parallelism', '/guide/tensor-parallel'],
  ['Pipeline parallelism', '/guide/pipeline'],
  ['Long sequences', '/guide/long-sequences'],
  ['Mixtures of experts', '/guide/experts'],
  ['Attention', '/guide/attention'],
  ['Transformers', '/packages/transformer'],
  ['Quantize a model', '/guide/quantization'],
  ['Plan a training', '/guide/planner'],
];

const ELSEWHERE = [
  ['Browsers', '/guide/browser'],
  ['Federated training', '/guide/federated'],
  ['Engines and tfjs-node', '/guide/engines'],
];

const EXAMPLES = [
  ['Example programs', '/guide/examples'],
  ['The tfjs-examples', '/guide/tfjs-examples'],
];

const CONCEPTS = [
  ['Data parallelism', '/concepts/data-parallel'],
  ['Sharding: ZeRO', '/concepts/zero'],
  ['Inside a training step', '/concepts/step'],
  ['Ranks, hosts and meshes', '/concepts/mesh'],
  ['When k ranks equal one', '/guide/k-ranks'],
  ['Which features combine', '/concepts/together'],
];

const COMING_FROM = [
  ['Hugging Face Accelerate', '/coming-from/accelerate'],
  ['TensorFlow.js', '/coming-from/tfjs'],
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
  ['Planner', '/errors/planner'],
  ['Quantization', '/errors/quantization'],
  ['Kernels and tensors', '/errors/kernels'],
  ['Trackers', '/errors/trackers'],
  ['Federated training', '/errors/federated'],
  ['Transformers', '/errors/transformers'],
  ['Test kit', '/errors/testkit'],
];

const HOW_TO_WRITE = [
  ['Write a tracker', '/write/tracker'],
  ['Publish a tracker', '/write/tracker-guide'],
  ['Write a plugin', '/write/plugin'],
  ['Write a strategy', '/write/strategy'],
  ['Write a kernel', '/write/kernel'],
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

/** The list of pages beside each page, by the beginning of its path. */
export function sidebars() {
  const docs = [
    group('Get started', BEGIN),
    group('Train', TRAIN),
    group('Large models', LARGE_MODELS),
    group('Other places', ELSEWHERE),
    group('Recipes and exercises', RECIPES),
    group('Examples', EXAMPLES, true),
    group('Concepts', CONCEPTS, true),
    group('Coming from', COMING_FROM, true),
    group('Extend', HOW_TO_WRITE, true),
    { text: 'Performance', link: '/performance' },
    { text: 'Troubleshooting', link: '/errors/' },
    { text: 'API', link: '/api/' },
  ].filter(({ items }) => items === undefined || items.length > 0);
  const project = projectPages();
  return {
    '/api/': apiPages(),
    '/errors/': [group('Troubleshooting', [...ERRORS, ...othersOf('errors', ERRORS)])],
    '/packages/': project,
    '/design/': project,
    '/project/': project,
    '/results/': project,
    '/': docs,
  };
}

function apiPages() {
  const uses = usesOfCore.map(({ title, file }) => [title, `/api/core/${file}`]);
  const packages = documentedPackages.map((folder) => [packageName(folder), apiLink(folder)]);
  return [{ text: 'API', link: '/api/' }, group('@acc/core', uses), group('All packages', packages)];
}

function projectPages() {
  const packages = packageFolders.map((folder) => [packageName(folder), `/packages/${folder}`]);
  const designs = designedPackages.map((folder) => [packageName(folder), `/design/${folder}`]);
  return [
    group('Project', PROJECT),
    group('Packages', packages, true),
    group('How packages work', designs, true),
  ];
}

/** Pages of a folder that have no short name, by their titles. */
function othersOf(folder, named) {
  if (!existsSync(`${root}/site/docs/${folder}`)) return [];
  const pages = filesUnder(`${root}/site/docs/${folder}`).map((path) => path.replace(/(index)?\.md$/, ''));
  return pages
    .map((page) => `/${folder}/${page}`)
    .filter((link) => !named.some(([, known]) => known === link))
    .map((link) => [/^# (.*)$/m.exec(read(`site/docs${link.replace(/\/$/, '/index')}.md`))[1], link]);
}

function group(text, items, collapsed = false) {
  return { text, collapsed, items: items.map(([name, link]) => ({ text: name, link })) };
}
