import { AccError } from '@acc/contract';

/** @param name The tensor. */
export function invalidPacked(name: string, problem: string): AccError {
  return new AccError('ACC_PACKED_WEIGHTS_INVALID', `The packed weight '${name}' ${problem}.`, {
    help: 'The files may be incomplete, or of another version of the tool that wrote them. Compare them with the original.',
    details: { name },
  });
}

/** For a quantization that is not read. */
export function unsupportedQuantization(problem: string): AccError {
  return new AccError('ACC_MODEL_UNSUPPORTED', `The quantization_config of the model ${problem}.`, {
    help: "compressed-tensors ('pack-quantized' and 'int-quantized'), bitsandbytes (nf4), gptq and awq (gemm) are read. Load the model with the tool that wrote it, and save it in 16 bits.",
  });
}
