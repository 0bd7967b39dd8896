// SPDX-License-Identifier: Apache-2.0
#include "models/image_source.hpp"

#include "models/image_store.hpp"
#include "models/jpeg_images.hpp"
#include "models/models.hpp"

namespace scalebench {

std::unique_ptr<ImageSource> open_image_source(const TrainerOptions& options, Split split,
                                               torch::Device device) {
  const ImageShape& shape = options.choice.shape;
  if (is_jpeg_folder(options.dataset)) {
    return std::make_unique<JpegImages>(options.dataset, split, shape, options.seed,
                                        options.bad_images);
  }
  return std::make_unique<ImageStore>(load_dataset(options.dataset, split, shape, options.seed),
                                      shape, device);
}

}  // namespace scalebench
