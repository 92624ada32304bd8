import { ATTENTION, IN_LOSS, KEEP_DIM, type LayerConfig, type Mixing, type Rule } from './layer-use.js';

// Layers that compute with several positions at a time, or change their number.

const firstOf = (values: number | readonly number[] | undefined): number | undefined => [values].flat()[0];
const isChannelsFirst = ({ dataFormat }: LayerConfig): boolean => dataFormat === 'channelsFirst';

/** With channels first, dim 1 has the channels, and the layer computes each by itself. */
function ifChannelsLast(config: LayerConfig, mixing: Mixing | undefined): Mixing | undefined {
  return isChannelsFirst(config) ? undefined : mixing;
}

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

export const pooling: Rule = (config) => {
  const { poolSize, strides } = config;
  const [size, stride] = [firstOf(poolSize), firstOf(strides)];
  if (size === 1 && stride === 1) return undefined;
  return ifChannelsLast(config, {
    does: `has poolSize ${size} and strides ${stride} along the positions`,
    instead: 'Use poolSize 1 and strides 1 along dim 1.',
  });
};

const resizes: Mixing = { does: 'changes the number of positions', instead: KEEP_DIM };

export const upSampling: Rule = (config) =>
  firstOf(config.size) === 1 ? undefined : ifChannelsLast(config, resizes);

/** Of zeroPadding2d and cropping2D. */
export const margins: Rule = (config) => {
  const [alongDim1] = (config.padding ?? config.cropping)!;
  return alongDim1!.every((length) => length === 0) ? undefined : ifChannelsLast(config, resizes);
};

export const resizing: Rule = () => resizes;

/** randomWidth changes the dim before the last one. */
export const randomWidth: Rule = (_, { shape }) => (shape.length === 3 ? resizes : undefined);

export const recurrent: Rule = () => ({ does: 'goes from position to position', instead: ATTENTION });

export const globalAverage: Rule = (config) =>
  ifChannelsLast(config, { does: 'takes the mean over positions', instead: IN_LOSS });

export const globalMaximum: Rule = (config) =>
  ifChannelsLast(config, { does: 'takes the maximum over positions', instead: ATTENTION });
