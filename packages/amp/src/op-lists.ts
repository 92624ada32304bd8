/**
 * The element type of each kernel under mixed precision. Kernels have the names of tfjs and of
 * `@acc/kernels`.
 *
 * - `lower`: inputs are converted to 16 bits. These kernels do many multiplications for each number
 *   that they read.
 * - `float32`: in the forward pass, 16-bit inputs are converted to float32. These kernels add up
 *   many numbers, or amplify errors of their inputs.
 * - `asGiven`: inputs are not converted. These kernels accept any mix of types, and convert inside
 *   if needed.
 *
 * Every other kernel computes in the element type of its inputs, or in float32 if they differ. The
 * entries follow PyTorch's autocast (torch.amp, "Autocast Op Reference") for operators that it
 * lists.
 */
export interface OpLists {
  readonly lower: readonly string[];
  readonly float32: readonly string[];
  readonly asGiven: readonly string[];
}

export const OP_LISTS: OpLists = {
  lower: [
    'BatchMatMul',
    '_FusedMatMul',
    'Einsum',
    'Conv2D',
    'FusedConv2D',
    'Conv2DBackpropInput',
    'Conv2DBackpropFilter',
    'DepthwiseConv2dNative',
    'FusedDepthwiseConv2D',
    'DepthwiseConv2dNativeBackpropInput',
    'DepthwiseConv2dNativeBackpropFilter',
    'Conv3D',
    'Conv3DBackpropInputV2',
    'Conv3DBackpropFilterV2',
    'AccScaledDotProductAttention',
    'AccScaledDotProductAttentionGrad',
    'AccLstm',
    'AccLstmGrad',
    'AccGru',
    'AccGruGrad',
    'Prelu',
  ],
  float32: [
    'Acos',
    'Asin',
    'Cosh',
    'Sinh',
    'Tan',
    'Exp',
    'Expm1',
    'Log',
    'Log1p',
    'Pow',
    'Reciprocal',
    'Rsqrt',
    'Softplus',
    'Softmax',
    'LogSoftmax',
    'Sum',
    'Mean',
    'Prod',
    'Cumsum',
    'Cumprod',
    'SquaredDifference',
    'SoftmaxCrossEntropy',
    'SigmoidCrossEntropy',
    'LRN',
    'AvgPool3D',
  ],
  asGiven: [
    'AccAttentionBlock',
    'AccAttentionBlockGrad',
    'AccCast',
    'Cast',
    'Identity',
    'FusedBatchNorm',
    'AccBatchNorm',
    'AccBatchNormGrad',
    'AccLayerNorm',
    'AccLayerNormGrad',
    'AccRmsNorm',
    'AccRmsNormGrad',
  ],
};
