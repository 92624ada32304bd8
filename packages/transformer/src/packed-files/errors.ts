import { AccError } from '@acc/contract';

const help =
  'The files may be incomplete, or of another version of the tool that wrote them. Compare them with the original.';

/** @param name The tensor. */
export function invalidPacked(name: string, problem: string): AccError {
  return new AccError('ACC_PACKED_WEIGHTS_INVALID', `The packed weight '${name}' ${problem}.`, {
    help,
    details: { name },
  });
}

/** For metadata of safetensors files that do not describe packed weights. */
export function invalidMetadata(problem: string): AccError {
  return new AccError('ACC_PACKED_WEIGHTS_INVALID', `The metadata of the safetensors files ${problem}.`, {
    help,
  });
}

/** For a weight of torchao that is not read. @param name The weight. */
export function unsupportedPacked(name: string, problem: string): AccError {
  return new AccError('ACC_MODEL_UNSUPPORTED', `The packed weight '${name}' ${problem}, which is not read.`, {
    help: 'Weights of Int8Tensor, IntxUnpackedToInt8Tensor and Int4Tensor of torchao are read. In PyTorch, call dequantize() on the others, and save them in 16 bits.',
    details: { name },
  });
}

/** For a quantization that is not read. */
export function unsupportedQuantization(problem: string): AccError {
  return new AccError('ACC_MODEL_UNSUPPORTED', `The quantization_config of the model ${problem}.`, {
    help: "compressed-tensors ('pack-quantized' and 'int-quantized'), bitsandbytes (nf4), gptq, awq (gemm) and torchao are read. Load the model with the tool that wrote it, and save it in 16 bits.",
  });
}
