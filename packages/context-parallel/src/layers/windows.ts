import { ATTENTION, KEEP_DIM, type LayerConfig, type Mixing, type Rule } from './layer-use.js';

// Layers that compute with several positions at a time, or change their number.

const firstOf = (values: number | readonly number[] | undefined): number | undefined => [values].flat()[0];
const isChannelsFirst = ({ dataFormat }: LayerConfig): boolean => dataFormat === 'channelsFirst';

export const always =
  (mixing: Mixing): Rule =>
  () =>
    mixing;

/** With channels first, dim 1 has them. The layer computes each by itself. */
export const ifChannelsLast =
  (rule: Rule): Rule =>
  (config, piece, use) =>
    isChannelsFirst(config) ? undefined : rule(config, piece, use);

export const convolution: Rule = (config) => {
  if (isChannelsFirst(config)) {
    return { does: 'takes positions as channels', instead: "Use dataFormat 'channelsLast'." };
  }
  const [size, strides] = [firstOf(config.kernelSize), firstOf(config.strides)];
  if (size === 1 && strides === 1) return undefined;
  return {
    does: `has kernelSize ${size} and strides ${strides} along the positions`,
    instead: `Use kernelSize 1 and strides 1 along dim 1. Where positions must see each other: ${ATTENTION}`,
  };
};

export const pooling: Rule = ({ poolSize, strides }) => {
  const [size, stride] = [firstOf(poolSize), firstOf(strides)];
  if (size === 1 && stride === 1) return undefined;
  return {
    does: `has poolSize ${size} and strides ${stride} along the positions`,
    instead: 'Use poolSize 1 and strides 1 along dim 1.',
  };
};

const resizes: Mixing = { does: 'changes the number of positions', instead: KEEP_DIM };

export const upSampling: Rule = ({ size }) => (firstOf(size) === 1 ? undefined : resizes);

/** Of zeroPadding2d and cropping2D. */
export const margins: Rule = ({ padding, cropping }) =>
  (padding ?? cropping)![0]!.every((length) => length === 0) ? undefined : resizes;

export const resizing = always(resizes);

/** randomWidth changes the dim before the last one. */
export const randomWidth: Rule = (_, { shape }) => (shape.length === 3 ? resizes : undefined);
