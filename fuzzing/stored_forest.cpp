// Feeds forests as model files store them to libFuzzer: bytes that were changed at random and have matching checksums,
// so that everything behind the checksums is reached. A forest is refused, or rows can go down it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/checksum.hpp"
#include "surprise/distributions.hpp"
#include "surprise/feature_table.hpp"
#include "surprise/packed_forest.hpp"
#include "surprise/table_forest.hpp"
#include "surprise/target_column.hpp"
#include "surprise/tree_samples.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t n_rows = 40, n_features = 3, n_pairs = 2;
// Where the header has its counts, and how long its parts are, in bytes.
constexpr std::size_t n_trees_place = 12, n_features_place = 16, header_size = 40, entry_size = 24;

/// A table of two columns of numbers, one with missing values, and one of categories.
struct Fixture {
    std::vector<double> rows;
    std::unique_ptr<paribus::FeatureTable> table;
    std::unique_ptr<paribus::TreeSamples> samples;
    std::unique_ptr<paribus::TargetColumn> target;
    std::vector<std::uint8_t> packed;
    std::vector<std::int64_t> fitted;

    Fixture() {
        for (std::size_t row = 0; row < n_rows; ++row) {
            const auto place = static_cast<double>(row);
            rows.insert(rows.end(), {place * 0.1, row % 7 == 0 ? NAN : place - 20.0, static_cast<double>(row % 5)});
            fitted.push_back(row % 2 == 0 ? -1 : static_cast<std::int64_t>(row));
        }
        using paribus::FeatureKind;
        table = std::make_unique<paribus::FeatureTable>(
            n_rows, std::vector{FeatureKind::numeric, FeatureKind::numeric, FeatureKind::categorical}, rows.data());
        const std::vector<std::uint8_t> usable(n_rows, 1);
        samples =
            std::make_unique<paribus::TreeSamples>(n_rows, usable.data(), nullptr, nullptr, n_pairs, n_rows / 2, 1, 1);
        target = std::make_unique<paribus::TargetColumn>(rows.data(), n_rows, n_features, 0, paribus::Limits{}, paribus::Limits{},
                                                         std::nullopt);
        paribus::TreeParameters parameters;
        parameters.features = {0, 1, 2};
        parameters.max_features = n_features;
        parameters.min_samples_leaf = 2;
        paribus::TableForest grown(*table, *samples, *target, parameters, 1, 1, [](std::size_t) {});
        packed = grown.pack(parameters.features, false);
    }
};

const Fixture &fixture() {
    static const Fixture found;
    return found;
}

std::uint64_t word(const std::uint8_t *from) {
    std::uint64_t found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

void seal(std::uint8_t *data, std::size_t size) {
    if (size < header_size) return;
    const auto n_trees = static_cast<std::uint32_t>(word(data + n_trees_place));
    const auto n_used = static_cast<std::uint32_t>(word(data + n_features_place));
    const std::size_t directory = header_size + (std::size_t{n_used} * 2 + 7) / 8 * 8;
    const std::size_t end = directory + std::size_t{n_trees} * entry_size;
    if (end > size) return;
    for (std::size_t place = directory; place < end; place += entry_size) {
        const std::uint64_t begin = word(data + place), length = word(data + place + 8);
        if (begin > size || length > size - begin) continue;
        const std::uint64_t sum = paribus::checksum(data + begin, length);
        std::memcpy(data + place + 16, &sum, sizeof sum);
    }
    const std::uint64_t sum = paribus::checksum(data + 8, end - 8);
    std::memcpy(data, &sum, sizeof sum);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t max_size, unsigned) {
    const std::vector<std::uint8_t> &valid = fixture().packed;
    if (size < header_size && valid.size() <= max_size) {
        std::copy(valid.begin(), valid.end(), data);
        size = valid.size();
    }
    size = LLVMFuzzerMutate(data, size, max_size);
    seal(data, size);
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const Fixture &known = fixture();
    // Aligned, and exactly as long as it is: whatever is read beyond the end is found.
    const std::unique_ptr<std::uint8_t, decltype(&std::free)> bytes(
        static_cast<std::uint8_t *>(std::malloc(std::max<std::size_t>(size, 1))), &std::free);
    std::memcpy(bytes.get(), data, size);
    const paribus::AskedRows asked = {n_rows, known.rows.data(), known.fitted.data()};
    std::vector<double> found(n_rows * 5);
    try {
        const paribus::PackedForest forest(*known.table->kinds(), *known.samples, *known.target, known.rows.data(),
                                           bytes.get(), size);
        paribus::find_quantiles(asked, forest, 5, found.data(), 1, [](std::size_t) {});
        std::vector<std::uint32_t> members;
        std::vector<std::size_t> ends;
        for (std::size_t row = 0; row < n_rows; ++row) forest.find_rows(asked, row, members, ends);
        const paribus::TableForest unpacked(forest, false, 1);
        paribus::find_deviations(asked, unpacked, found.data(), 1, [](std::size_t) {});
        // Rows of leaves by their place, as reference groups ask for them; of a forest that knows no leaf yet.
        const paribus::PackedForest fresh(*known.table->kinds(), *known.samples, *known.target, known.rows.data(),
                                          bytes.get(), size);
        paribus::LeafFinder::Scratch leaves;
        unpacked.find_leaves(asked, 0, n_rows, leaves);
        for (std::size_t row = 0; row < n_rows; ++row) {
            for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                fresh.append_rows(known.samples->unseen_tree(pair, known.fitted[row]), leaves.members_begin(pair, row),
                                  leaves.leaf(pair, row).n_rows, members);
            }
        }
        for (const std::uint32_t member : members) {
            if (member >= n_rows) std::abort();
        }
        paribus::PackedForest::splice(bytes.get(), size, 2, known.packed.data(), known.packed.size());
    } catch (const std::invalid_argument &) {
        return 0;
    }
    return 0;
}
