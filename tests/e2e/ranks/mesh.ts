// Sums along the axes of meshes of four ranks, with the collectives that a strategy gets. Reports
// the sums of the rank numbers.
import * as tf from '@tensorflow/tfjs';
import type { Collective, Strategy } from '@acc/contract';
import { meshOf, type MeshSizes } from '@acc/collective';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

let world!: Collective;
const strategy: Strategy = {
  name: 'watching',
  traits: { parameters: 'replicated' },
  attach: ({ collective, mesh }) => {
    if (mesh.dataRanks !== collective) throw new Error('Without a mesh every rank has rows of its own.');
    world = collective;
  },
  prepareVariables: () => {},
  beginReduction: () => ({ ready: (_, grad) => grad.dispose(), finish: () => [] }),
};
const accelerator = await Accelerator.create({ strategy });

const MESHES: MeshSizes[] = [
  { data: 2, tensor: 2 },
  { pipeline: 2, fsdp: -1 },
  { data: 2, expert: 2 },
];
const meshes = MESHES.map((sizes) => meshOf(world, sizes));
const sumOver = (group: Collective) =>
  tf.tidy(() => group.allReduce(tf.scalar(10 ** world.rank)).dataSync()[0]!);
const sums = meshes.map((mesh) => ({
  coordinates: mesh.coordinates,
  along: mesh.axes.map((axis) => sumOver(mesh.along(axis))),
  data: sumOver(mesh.dataRanks),
}));
reportResult(sums);
await accelerator.endTraining();
