import { IN_LOSS, KEEP_DIM, sizeOfPosition, type Rule } from './layer-use.js';

// Layers that give values another place.

export const flatten: Rule = (_, { shape }) =>
  sizeOfPosition(shape) === 1
    ? undefined
    : { does: 'joins positions with their features', instead: `Leave the layer out. ${IN_LOSS}` };

export const permute: Rule = ({ dims }) =>
  dims![0] === 1 ? undefined : { does: 'moves the positions to another dim', instead: KEEP_DIM };

export const repeatVector: Rule = () => ({
  does: 'moves the positions to another dim',
  instead: 'Use reshape with targetShape [null, 1] to give each position a feature.',
});

export const reshape: Rule = ({ targetShape }, { shape }) => {
  const [length] = targetShape!;
  const isLength = length === null || length === shape[1];
  const isByPosition = sizeOfPosition([null, ...targetShape!]) === sizeOfPosition(shape);
  if (isLength && isByPosition) return undefined;
  return {
    does: 'moves values between positions',
    instead: 'Use a targetShape with null and then the dims of one position.',
  };
};
