import { allReduceSeconds, send } from '../collectives/collectives.js';
import { layersOfStages, mostParameters, optimizerShards, shareSizes } from '../memory/shares.js';
import type { Action } from '../schedule/action.js';
import type { Plan } from '../plan.js';
import { peakPassesOf } from '../schedule/peak-passes.js';
import { scheduleOf } from '../schedule/schedule.js';
import { simulate, type Simulation } from '../schedule/simulate.js';
import type { Cluster } from '../cluster.js';
import { groupOf, linkOf, replicasOf } from './groups.js';
import {
  bytesSeconds,
  elementBytes,
  gatherSeconds,
  headSeconds,
  layerSeconds,
  tokensOf,
  total,
  type PassSeconds,
  type Seconds,
  type Setting,
} from './layer.js';
import type { Breakdown } from '../breakdown.js';

export interface StepSeconds {
  readonly seconds: number;
  readonly breakdown: Breakdown;
  /** The most layers whose activations a rank holds at one time, for each rank. */
  readonly keptLayers: readonly number[];
}

/** Bytes of a step of Adam in mixed precision, for each parameter: gradient, weights, moments, copies. */
const OPTIMIZER_BYTES = 44;

export function stepSeconds(setting: Setting): StepSeconds {
  const stages = stagesOf(setting);
  const messages = messageSeconds(setting);
  const pipeline = pipelineOf(setting, stages, messages);
  const parts = partsOf(setting, stages, pipeline.rank);
  const communication = messages.blocking * pipeline.messages;
  const busy = total(parts) + communication;
  const data = dataSeconds(setting, stages);
  const gathers = exposedGathers(setting, stages);
  const optimizer = optimizerSeconds(setting);
  const offload = offloadSeconds(setting, stages);
  return {
    seconds: pipeline.duration + data + gathers + optimizer + offload,
    keptLayers: keptLayers(setting, pipeline),
    breakdown: {
      ...{ products: parts.products, attention: parts.attention, elementwise: parts.elementwise },
      recomputed: parts.recomputed,
      tensorCommunication: parts.communication,
      pipelineCommunication: communication,
      pipelineBubble: pipeline.duration - busy,
      dataCommunication: data + gathers,
      ...{ optimizer, offload },
    },
  };
}

/**
 * Seconds that a step takes at least, without a simulation of its pipeline: each rank computes all that is
 * its own, after the stages before it have sent a first forward pass, and before their last backward passes.
 */
export function leastStepSeconds(setting: Setting): number {
  const stages = stagesOf(setting);
  const others = dataSeconds(setting, stages) + exposedGathers(setting, stages);
  return (
    leastPipelineSeconds(setting, stages) +
    others +
    optimizerSeconds(setting) +
    offloadSeconds(setting, stages)
  );
}

function leastPipelineSeconds(setting: Setting, stages: readonly PassSeconds[]): number {
  const { mesh, microBatches } = setting.plan;
  if (mesh.pipeline === 1) return passesInTurn(setting, stages).duration;
  const { blocking, delay } = messageSeconds(setting);
  const busy = Array<number>(mesh.pipeline).fill(0);
  stages.forEach(({ forward, backward }, stage) => {
    busy[stage % mesh.pipeline]! += microBatches * (total(forward) + total(backward) + 2 * blocking);
  });
  let [most, around] = [0, 0];
  busy.forEach((own, rank) => {
    most = Math.max(most, own + around);
    const { forward, backward } = stages[rank]!;
    around += total(forward) + blocking + delay;
    // Gradients of weights may fill the time in which the last gradients of inputs travel.
    if (!hasSplitBackward(setting.plan)) around += total(backward) + blocking + delay;
  });
  return most;
}

/** The times of each stage, of one micro-batch. */
function stagesOf(setting: Setting): PassSeconds[] {
  const { model, plan } = setting;
  const layer = layerSeconds(setting);
  const head = headSeconds(setting);
  const layers = layersOfStages(model.layers, plan.mesh.pipeline * plan.chunks);
  return layers.map((count, stage) => {
    const all = scaled(layer, count);
    return stage === layers.length - 1 ? added(all, head) : all;
  });
}

/** The time of a message between stages: what stops the sender, and what only delays the receiver. */
function messageSeconds(setting: Setting): { blocking: number; delay: number } {
  const { model, plan, cluster, calibration } = setting;
  const { pipeline, tensor } = plan.mesh;
  if (pipeline === 1) return { blocking: 0, delay: 0 };
  const shares = plan.scatterGather || plan.sequenceParallel ? tensor : 1;
  const bytes = elementBytes(plan) * tokensOf(setting) * model.hidden;
  const sent = send(bytes / shares, linkOf(groupOf('pipeline', plan.mesh, cluster, calibration)));
  const onHost = groupOf('tensor', plan.mesh, cluster, calibration);
  // The receivers gather the shares, unless they compute with them.
  const gathered = shares > 1 && !plan.sequenceParallel ? allReduceSeconds(bytes, onHost) / 2 : 0;
  const seconds = sent + gathered;
  return calibration.overlaps ? { blocking: 0, delay: seconds } : { blocking: seconds, delay: 0 };
}

/** A step in time, before gradients are reduced. */
interface Pipeline {
  readonly duration: number;
  /** The rank that computes longest, and its messages to other stages. */
  readonly rank: number;
  readonly messages: number;
  /** The most forward passes of each rank whose tensors are kept at one time. */
  readonly peakPasses: readonly number[];
}

function pipelineOf(
  setting: Setting,
  stages: readonly PassSeconds[],
  messages: { blocking: number; delay: number },
): Pipeline {
  if (setting.plan.mesh.pipeline === 1) return passesInTurn(setting, stages);
  const simulation = simulated(setting, stages, messages);
  const rank = busiest(simulation);
  return {
    ...{ duration: simulation.duration, rank, peakPasses: simulation.peakPasses },
    messages: simulation.rows[rank]!.filter(({ kind }) => kind !== 'weights').length,
  };
}

/** One rank takes its passes in turn, so their number may be large: no table of them is made. */
function passesInTurn({ plan }: Setting, stages: readonly PassSeconds[]): Pipeline {
  const pass = stages.reduce((all, { forward, backward }) => all + total(forward) + total(backward), 0);
  return { duration: plan.microBatches * pass, rank: 0, messages: 0, peakPasses: peakPassesOfPlan(plan) };
}

function simulated(
  { plan }: Setting,
  stages: readonly PassSeconds[],
  { blocking, delay }: { blocking: number; delay: number },
): Simulation {
  const { mesh, chunks, microBatches, schedule } = plan;
  const table = scheduleOf(schedule, { ranks: mesh.pipeline, chunks, microBatches });
  const isSplit = hasSplitBackward(plan);
  const durations = stages.map(({ forward, backward }) => ({
    forward: total(forward) + blocking,
    backward: isSplit ? total(backward) / 2 + blocking : total(backward) + blocking,
    weights: isSplit ? total(backward) / 2 : 0,
  }));
  return simulate(table, ({ kind, stage }: Action) => {
    const duration = durations[stage]![kind];
    return { duration, sentAfter: duration + delay };
  });
}

/** Layers that are computed again have all their gradients in the first half of backward. */
const hasSplitBackward = ({ schedule, recompute }: Plan): boolean =>
  schedule === 'zeroBubble' && recompute !== 'full';

const busyOf = (row: Simulation['rows'][number]): number =>
  row.reduce((busy, { start, end }) => busy + end - start, 0);

function busiest({ rows }: Simulation): number {
  const busy = rows.map(busyOf);
  return busy.indexOf(Math.max(...busy));
}

/** The work of a rank in a step, by what it is. */
function partsOf(
  { plan }: Setting,
  stages: readonly PassSeconds[],
  rank: number,
): Seconds & { readonly recomputed: number } {
  const own = stages.filter((_, stage) => stage % plan.mesh.pipeline === rank);
  const sumOf = (name: keyof Seconds) =>
    plan.microBatches * own.reduce((all, { forward, backward }) => all + forward[name] + backward[name], 0);
  return {
    ...{ products: sumOf('products'), attention: sumOf('attention') },
    ...{ elementwise: sumOf('elementwise'), communication: sumOf('communication') },
    recomputed: plan.microBatches * own.reduce((all, each) => all + each.recomputed, 0),
  };
}

/**
 * The all-reduce of gradients over `data` and `context`. If it overlaps, buckets travel under one micro-batch's backward
 * and, as gathered weights, under the next forward; the last layer's bucket cannot.
 */
function dataSeconds(setting: Setting, stages: readonly PassSeconds[]): number {
  const { model, plan, cluster, calibration } = setting;
  const { fsdp, pipeline } = plan.mesh;
  const group = replicasOf(plan.mesh, cluster, calibration);
  if (group.ranks === 1) return 0;
  const most = mostParameters(model, plan) / fsdp;
  const seconds = allReduceSeconds(elementBytes(plan) * most, group);
  // Stage 2 keeps no whole gradients, so each micro-batch but the last one reduces its own beside the last.
  const more = plan.stage === 2 ? (plan.microBatches - 1) * (seconds / 2) : 0;
  if (!calibration.overlaps) return seconds + more;
  const own = stages.filter((_, stage) => stage % pipeline === 0);
  const backwards = own.reduce((all, { backward }) => all + total(backward), 0);
  const hidden = own.reduce((all, { forward }) => all + total(forward), backwards);
  const eachMore = more === 0 ? 0 : (plan.microBatches - 1) * beside(seconds / 2, backwards);
  return Math.max(seconds - hidden, (seconds * pipeline) / model.layers) + eachMore;
}

/**
 * The time of values that offload moves, as `@acc/fsdp` does: gradients leave beside backward; the update reads state,
 * gradients and parameters, and writes state and parameters; forward and backward of each micro-batch
 * read parameters ahead of their use. Disks are shared by the devices of a host, and by both directions.
 */
function offloadSeconds(setting: Setting, stages: readonly PassSeconds[]): number {
  const { model, plan, cluster } = setting;
  const { offload, mesh, stage, microBatches } = plan;
  if (!offload) return 0;
  const most = mostParameters(model, plan);
  const shards = optimizerShards(plan);
  const moments = offload.optimizer ? (8 * most) / shards : 0;
  const gradients = offload.optimizer ? (4 * most) / (stage >= 2 ? shards : 1) : 0;
  const weights = offload.params ? (4 * most) / mesh.fsdp : 0;
  const rateOf = offloadRate(cluster, offload.to);
  const forward = stages.reduce((all, each) => all + total(each.forward), 0);
  const backward = stages.reduce((all, each) => all + total(each.backward), 0);
  const reads = rateOf(weights, 0);
  const passes = microBatches * beside(reads, forward) + (microBatches - 1) * beside(reads, backward);
  // Sums of several micro-batches are in memory, so only those of one are written.
  const left = microBatches === 1 ? gradients : 0;
  const update = rateOf(moments + left + weights, moments + weights);
  return passes + beside(rateOf(weights, left), backward) + update;
}

/** The seconds in which a device reads and writes so many bytes. */
function offloadRate(cluster: Cluster, to: 'cpu' | 'nvme'): (read: number, written: number) => number {
  const { bytesPerSecond } = cluster.hostLink;
  if (to === 'cpu') return (read, written) => Math.max(read, written) / bytesPerSecond;
  const disks = cluster.nvmeBytesPerSecond! / Math.min(cluster.devices, cluster.devicesPerHost);
  return (read, written) => (read + written) / Math.min(disks, bytesPerSecond);
}

/**
 * The time of gathers and reductions of `fsdp` that is not hidden. If they overlap, those of a layer go
 * under the computation of another one, and only the first gather is exposed.
 */
function exposedGathers(setting: Setting, stages: readonly PassSeconds[]): number {
  const { model, plan, calibration } = setting;
  const { layer, embedding, head } = shareSizes(model, plan);
  const gather = gatherSeconds(layer, setting);
  if (gather === 0) return 0;
  const layers = model.layers / plan.mesh.pipeline;
  const ends = gatherSeconds(embedding + head, setting) * (2 / Math.min(2, stages.length));
  if (!calibration.overlaps) return plan.microBatches * (3 * layers * gather + ends);
  const { forward, backward } = layerSeconds(setting);
  const beyond = beside(gather, total(forward)) + beside(2 * gather, total(backward));
  return plan.microBatches * (layers * beyond + gather + ends);
}

/**
 * The time that a transfer adds to computation beside which it goes: the rest that is longer, and a fifth of the
 * time of both, because each slows the other down (Galvatron measures 1.1 to 1.3).
 */
const beside = (transfer: number, computation: number): number =>
  Math.max(0, transfer - computation) + SLOWED_DOWN * Math.min(transfer, computation);

const SLOWED_DOWN = 0.2;

function optimizerSeconds(setting: Setting): number {
  const { model, plan } = setting;
  const most = mostParameters(model, plan);
  return bytesSeconds((OPTIMIZER_BYTES * most) / optimizerShards(plan), setting);
}

const keptLayers = ({ model, plan }: Setting, { peakPasses }: Pick<Pipeline, 'peakPasses'>): number[] =>
  peakPasses.map((passes) => passes * (model.layers / (plan.mesh.pipeline * plan.chunks)));

/** The same as {@link StepSeconds.keptLayers}, without the times of a step. */
export const mostKeptLayers = (setting: Setting): number[] =>
  keptLayers(setting, { peakPasses: peakPassesOfPlan(setting.plan) });

function peakPassesOfPlan({ mesh, chunks, microBatches, schedule }: Plan): readonly number[] {
  if (mesh.pipeline === 1) return [schedule === 'gpipe' ? microBatches : chunks];
  return peakPassesOf(schedule, { ranks: mesh.pipeline, chunks, microBatches });
}

const scaled = ({ forward, backward, recomputed }: PassSeconds, by: number): PassSeconds => ({
  forward: mapped(forward, (value) => value * by),
  backward: mapped(backward, (value) => value * by),
  recomputed: recomputed * by,
});

const added = (a: PassSeconds, b: PassSeconds): PassSeconds => ({
  forward: mapped(a.forward, (value, name) => value + b.forward[name]),
  backward: mapped(a.backward, (value, name) => value + b.backward[name]),
  recomputed: a.recomputed + b.recomputed,
});

const mapped = (seconds: Seconds, by: (value: number, name: keyof Seconds) => number): Seconds => ({
  products: by(seconds.products, 'products'),
  attention: by(seconds.attention, 'attention'),
  elementwise: by(seconds.elementwise, 'elementwise'),
  communication: by(seconds.communication, 'communication'),
});
