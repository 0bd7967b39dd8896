// SPDX-License-Identifier: Apache-2.0
// Model parallelism: the network's layers are cut into one run a rank, and every image passes
// through all of them, in micro-batches (gradients/pass.hpp). Cost: activations and their gradients
// between neighbours instead of parameters, and idle stages. Wins where a model does not fit one
// device, or has far more parameters than activations. Each rank updates its stage alone.
#include <algorithm>

#include "kernels/error.hpp"
#include "models/gradients/divided.hpp"
#include "models/gradients/pass.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/network.hpp"

namespace scalebench::gradient_sync {
namespace {

class ModelSplit : public GradientSync {
 public:
  explicit ModelSplit(const GradientSyncInputs& inputs)
      : parameters_(inputs.parameters),
        ranks_(inputs.communicator),
        micro_batches_(inputs.options.micro_batches) {
    require_full_width("model_split", inputs.options);
    if (inputs.network != nullptr) layers_ = inputs.network->layers();
    if (layers_.empty()) {
      fail<UsageError>(
          "gradient sync model_split: this model is not a chain of layers that could be cut; take "
          "a built-in one, or mirrored");
    }
    std::vector<double> flops;
    const std::vector<LayerCost> costs = layer_costs(*inputs.network, inputs.image);
    for (const LayerCost& layer : costs) flops.push_back(layer.flops);
    cuts_ = cut_into_stages(flops, stages());
    std::size_t assigned = 0;
    for (int stage = 0; stage < stages(); ++stage) assigned += trained_in(stage).size();
    if (assigned != parameters_.size()) {
      fail("the layers of this network have {} of its {} parameter tensors", assigned,
           parameters_.size());
    }
    mine_ = trained_in(rank());
    if (!mine_.empty()) optimizer_ = make_optimizer(inputs.optimizer, mine_);
    const std::size_t begin = cuts_[static_cast<std::size_t>(rank())];
    pass_.emplace(ranks_, PipelineStage{layers_of(rank()), costs[begin].input_sizes},
                  micro_batches_, *this, inputs.trace);
  }

  Workers workers() const override { return {1, 0}; }
  bool counts_images() const override { return rank() == 0; }
  ModelPass* own_pass() override { return &*pass_; }

  void begin_step() override {
    for (const torch::Tensor& parameter : mine_) parameter.mutable_grad().reset();
  }

  void synchronise() override {}

  bool update(double learning_rate, double gradient_scale) override {
    bool finite = true;
    for (const torch::Tensor& parameter : mine_) {
      finite = unscale(parameter.grad(), gradient_scale) && finite;
    }
    if (gradient_scale != 1) finite = ranks_.all_agree(finite);
    if (finite && optimizer_) optimizer_->step(learning_rate);
    return finite;
  }

  void publish() override {
    const torch::NoGradGuard no_grad;
    for (int stage = 0; stage < stages(); ++stage) {
      for (const Layer& layer : layers_of(stage)) {
        for (torch::Tensor& tensor : layer.parameters()) broadcast_tensor(ranks_, tensor, stage);
        for (torch::Tensor& tensor : layer.buffers()) broadcast_tensor(ranks_, tensor, stage);
      }
    }
  }

  bool divides_optimizer() const override { return true; }
  NamedTensors optimizer_state() override {
    return optimizer_ ? optimizer_->state() : NamedTensors{};
  }
  void restore_optimizer(const NamedTensors& state) override {
    if (optimizer_) optimizer_->restore(state);
  }

  std::string remarks() const override {
    std::vector<std::size_t> lengths;
    for (std::size_t i = 1; i < cuts_.size(); ++i) lengths.push_back(cuts_[i] - cuts_[i - 1]);
    const double idle = stages() - 1;
    return fmt::format("{} layers in stages of {}, {} micro-batches: ideal bubble {:.3f}",
                       layers_.size(), fmt::join(lengths, " + "), micro_batches_,
                       idle / (micro_batches_ + idle));
  }

 private:
  int rank() const { return ranks_.communicator().rank(); }
  int stages() const { return ranks_.communicator().size(); }
  std::vector<Layer> layers_of(int stage) const {
    const auto cut = cuts_.begin() + stage;
    return {layers_.begin() + static_cast<std::ptrdiff_t>(cut[0]),
            layers_.begin() + static_cast<std::ptrdiff_t>(cut[1])};
  }

  std::vector<torch::Tensor> trained_in(int stage) const {
    std::vector<torch::Tensor> trained;
    for (const Layer& layer : layers_of(stage)) {
      for (const torch::Tensor& parameter : layer.parameters()) {
        const bool is_trained = std::ranges::any_of(
            parameters_, [&](const torch::Tensor& one) { return one.is_same(parameter); });
        if (is_trained) trained.push_back(parameter);
      }
    }
    return trained;
  }

  std::vector<torch::Tensor> parameters_;
  StagedExchange ranks_;
  int micro_batches_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> cuts_;         // where each stage begins, and the end
  std::vector<torch::Tensor> mine_;       // parameters of this stage
  std::unique_ptr<Optimizer> optimizer_;  // null for a stage without parameters
  std::optional<PipelinePass> pass_;
};

}  // namespace

std::unique_ptr<GradientSync> model_split(const GradientSyncInputs& inputs) {
  return std::make_unique<ModelSplit>(inputs);
}

}  // namespace scalebench::gradient_sync
