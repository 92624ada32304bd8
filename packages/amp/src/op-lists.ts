/**
 * What runs in which element type under mixed precision, by kernel: tfjs's names, and those of `@acc/kernels`.
 *
 * - `lower`: inputs are converted to 16 bits. Kernels that do many multiplications for each number they read.
 * - `float32`: 16-bit inputs are converted to float32, in the forward pass. Where many numbers are added up, or where a small
 *   error of the input makes a large one of the result.
 * - `asGiven`: takes any mix; converts inside, where it has to.
 *
 * Every other kernel computes in the element type of its inputs, in float32 where they differ. Entries are those of PyTorch's
 * autocast (torch.amp, "Autocast Op Reference") where it has one.
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
