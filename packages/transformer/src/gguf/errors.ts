import { AccError } from '@acc/contract';

/** @param where The path of the file. */
export function invalidGguf(where: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_GGUF_INVALID', `${where} is not a valid GGUF file: ${problem}.`, {
    help: 'The file may be truncated or of another format. Compare its size with the original.',
    cause,
  });
}

/** For a model that is not computed here as llama.cpp computes it. */
export function unsupportedModel(where: string, problem: string): AccError {
  return new AccError('ACC_MODEL_UNSUPPORTED', `${where}: ${problem}.`, {
    help: 'Take a GGUF file of a Llama model, or build other models from the layers of @acc/transformer.',
  });
}

export function invalidMetadata(where: string, problem: string): AccError {
  return new AccError('ACC_MODEL_CONFIG_INVALID', `${where}: ${problem}.`, {
    help: "Convert the model again with llama.cpp's convert_hf_to_gguf.py.",
  });
}
