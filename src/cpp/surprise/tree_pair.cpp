#include "surprise/tree_pair.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "surprise/threshold.hpp"

namespace paribus {

namespace {

constexpr std::size_t max_nodes = 0xffff, max_place = 0xffff;
// What is left of a 32-bit number if it is to be none.
constexpr std::uint32_t no_number = 0x7fc00000u, max_first = 0x003fffffu;
// Fewer rows do not visit most of the next pair, and would wait for all of it.
constexpr std::size_t min_rows_to_fetch_next = 512;

}  // namespace

/// The nodes of a tree as it was grown, level by level, so that the upper levels are near each other.
class TreePair::GrownNodes {
public:
    explicit GrownNodes(const TableTree &tree) : tree_(tree) {}

    bool is_leaf(std::uint32_t node) const { return tree_.nodes()[node].left == node; }
    const TableTree::Node &split(std::uint32_t node) const { return tree_.nodes()[node]; }
    const TableTree::Leaf &leaf(std::uint32_t node) const { return tree_.leaves()[node]; }
    const TableTree::BinSet &set(std::size_t number) const { return tree_.sets()[number]; }

    /// Where a node, whose parent has been visited, will be in the pair.
    void put(std::uint32_t node, std::size_t place) { waiting_.push_back({node, place}); }
    /// Visits all nodes, parents before their children, as long as it succeeds: `bool(node, place)`.
    template <typename Visit>
    bool visit_all(const Visit &visit) {
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const auto [node, place] = waiting_[i];
            if (!visit(node, place)) return false;
        }
        return true;
    }

private:
    struct Waiting {
        std::uint32_t node;
        std::size_t place;
    };

    const TableTree &tree_;
    std::vector<Waiting> waiting_;
};

/// The same of a packed tree, whose nodes are numbered level by level.
class TreePair::PackedNodes {
public:
    explicit PackedNodes(const Packed &packed) : packed_(packed), places_(packed.tree.n_nodes()) {}

    bool is_leaf(std::uint32_t node) const { return !packed_.tree.splits(node); }
    TableTree::Node split(std::uint32_t) const { return packed_.tree.split_node(n_splits_, packed_.features); }
    const TableTree::Leaf &leaf(std::uint32_t node) const { return packed_.leaves[node - n_splits_]; }
    const TableTree::BinSet &set(std::size_t number) const { return packed_.tree.set(number); }

    void put(std::uint32_t node, std::size_t place) { places_[node] = static_cast<std::uint32_t>(place); }
    template <typename Visit>
    bool visit_all(const Visit &visit) {
        for (std::uint32_t node = 0; node < places_.size(); ++node) {
            if (!visit(node, places_[node])) return false;
            n_splits_ += packed_.tree.splits(node);
        }
        return true;
    }

private:
    const Packed &packed_;
    std::vector<std::uint32_t> places_;
    /// Before the node that is visited.
    std::uint32_t n_splits_ = 0;
};

/// Appends one tree to the nodes of a pair.
template <typename Tree>
class TreePair::Builder {
public:
    Builder(const RowPlanes &planes, Tree &tree, std::uint32_t offset, std::vector<Node> &nodes)
        : planes_(planes), tree_(tree), offset_(offset), nodes_(nodes) {}

    /// Returns whether the tree fits.
    bool append() {
        const std::size_t root = nodes_.size();
        nodes_.emplace_back();
        tree_.put(0, root);
        if (!tree_.visit_all([&](std::uint32_t node, std::size_t place) { return write(node, place); })) return false;
        for (const auto &[from, to] : copies_) {
            nodes_[to] = nodes_[from];
            if (nodes_[to].left == from) nodes_[to].left = static_cast<std::uint16_t>(to);
        }
        return nodes_.size() <= max_nodes;
    }

private:
    bool write(std::uint32_t which, std::size_t place) {
        if (tree_.is_leaf(which)) return write_leaf(tree_.leaf(which), place);
        const TableTree::Node node = tree_.split(which);
        if (node.is_categorical) return write_categories(node, place);
        const bool is_below_all = std::isinf(node.threshold) && node.threshold > 0.0;
        const std::size_t plane = planes_.begin(node.feature) + (node.missing_left ? RowPlanes::side_by_side : 0);
        if ((!is_below_all && !(is_single(node.threshold) && std::isfinite(node.threshold))) || plane > max_place) {
            return false;
        }
        const float threshold = is_below_all ? RowPlanes::highest : static_cast<float>(node.threshold);
        const std::size_t left = add_children(place, threshold, plane);
        tree_.put(node.left, left);
        tree_.put(node.left + 1, left + 1);
        return nodes_.size() <= max_nodes;
    }

    bool write_leaf(const TableTree::Leaf &leaf, std::size_t place) {
        const std::uint32_t first = leaf.first + offset_;
        const std::size_t plane = planes_.numbers_begin() + leaf.n_rows;
        if (first > max_first || plane > max_place) return false;
        nodes_[place] = {std::bit_cast<float>(no_number | first), static_cast<std::uint16_t>(place),
                         static_cast<std::uint16_t>(plane)};
        return true;
    }

    /// One node for each word that has bins of the set, or else of the other set, if that has fewer. The child that
    /// they lead to has a copy next to each.
    bool write_categories(const TableTree::Node &node, std::size_t place) {
        const TableTree::BinSet &set = tree_.set(static_cast<std::size_t>(node.threshold));
        const std::size_t n_words = planes_.n_words(node.feature);
        if (planes_.begin(node.feature) + n_words * RowPlanes::side_by_side > max_place) return false;
        words_.assign(n_words, 0);
        for (std::size_t bin = 0; bin < n_words * RowPlanes::bins_per_word; ++bin) {
            const bool is_in = bin < FeatureTable::missing_bin && TableTree::is_in(set, static_cast<std::uint8_t>(bin));
            words_[bin / RowPlanes::bins_per_word] |= std::uint32_t{is_in} << (bin % RowPlanes::bins_per_word);
        }
        if (TableTree::is_in(set, FeatureTable::missing_bin)) words_[0] |= RowPlanes::missing_bit;
        if (node.missing_left) words_[0] |= RowPlanes::unknown_bit;
        others_.resize(n_words);
        for (std::size_t word = 0; word < n_words; ++word) {
            const std::uint32_t all = (1u << RowPlanes::bins_per_word) - 1;
            others_[word] = ~words_[word] & (word == 0 ? ~0u : all);
        }
        const auto count = [](const std::vector<std::uint32_t> &words) {
            return words.size() - static_cast<std::size_t>(std::count(words.begin(), words.end(), 0u));
        };
        const bool is_other = count(others_) < count(words_);
        const std::vector<std::uint32_t> &asked = is_other ? others_ : words_;
        const std::uint32_t hit = node.left + is_other, missed = node.left + !is_other;
        std::size_t first_hit = 0;
        for (std::size_t word = 0; word < n_words; ++word) {
            const bool is_last = word + 1 == n_words;
            if (asked[word] == 0 && !(is_last && first_hit == 0)) continue;
            const std::size_t plane = planes_.begin(node.feature) + word * RowPlanes::side_by_side;
            const std::size_t left = add_children(place, std::bit_cast<float>(asked[word]), plane);
            if (first_hit == 0) {
                first_hit = left;
                tree_.put(hit, left);
            } else {
                copies_.push_back({first_hit, left});
            }
            place = left + 1;
        }
        tree_.put(missed, place);
        return nodes_.size() <= max_nodes;
    }

    std::size_t add_children(std::size_t place, float threshold, std::size_t plane) {
        const std::size_t left = nodes_.size();
        nodes_[place] = {threshold, static_cast<std::uint16_t>(left), static_cast<std::uint16_t>(plane)};
        nodes_.resize(left + 2);
        return left;
    }

    const RowPlanes &planes_;
    Tree &tree_;
    std::uint32_t offset_;
    std::vector<Node> &nodes_;
    struct Copy {
        std::size_t from, to;
    };
    std::vector<Copy> copies_;
    std::vector<std::uint32_t> words_, others_;
};

TreePair::TreePair(const RowPlanes &planes, const TableTree &first, const TableTree &second, std::uint32_t offset) {
    if (first.nodes().size() + second.nodes().size() > max_nodes) return;
    nodes_.reserve(first.nodes().size() + second.nodes().size());
    if (!append(planes, GrownNodes(first), 0) || !append(planes, GrownNodes(second), offset)) nodes_ = {};
}

TreePair::TreePair(const RowPlanes &planes, const Packed &first, const Packed *second, std::uint32_t offset) {
    const std::size_t n_nodes = first.tree.n_nodes() + (second == nullptr ? 1 : second->tree.n_nodes());
    if (n_nodes > max_nodes) return;
    nodes_.reserve(n_nodes);
    const TableTree nothing = TableTree::empty();
    const auto append_second = [&] {
        return second == nullptr ? append(planes, GrownNodes(nothing), offset)
                                 : append(planes, PackedNodes(*second), offset);
    };
    if (!append(planes, PackedNodes(first), 0) || !append_second()) nodes_ = {};
}

template <typename Tree>
bool TreePair::append(const RowPlanes &planes, Tree &&tree, std::uint32_t offset) {
    second_root_ = static_cast<std::uint32_t>(nodes_.size());
    return Builder<std::remove_reference_t<Tree>>(planes, tree, offset, nodes_).append();
}

void TreePair::find(const RowPlanes &planes, const std::vector<float> &arranged, const std::uint8_t *is_second,
                    std::size_t n_rows, TableTree::Leaf *leaves, const TreePair *next) const {
    if (planes.numbers_begin() > 0) {
        find_all<true>(planes, arranged, is_second, n_rows, leaves, next);
    } else {
        find_all<false>(planes, arranged, is_second, n_rows, leaves, next);
    }
}

template <bool has_categories>
void TreePair::find_all(const RowPlanes &planes, const std::vector<float> &arranged, const std::uint8_t *is_second,
                        std::size_t n_rows, TableTree::Leaf *leaves, const TreePair *next) const {
    constexpr std::size_t side_by_side = RowPlanes::side_by_side;
    const Node *const nodes = nodes_.data();
    const std::size_t numbers_begin = planes.numbers_begin(), size = planes.size();
    constexpr std::size_t nodes_per_line = 64 / sizeof(Node);
    const std::size_t n_ahead = next == nullptr || n_rows < min_rows_to_fetch_next ? 0 : next->nodes_.size();
    const std::size_t ahead_at_a_time = n_ahead == 0 ? 0 : (n_ahead * side_by_side + n_rows - 1) / n_rows;
    std::size_t ahead = 0;
    for (std::size_t begin = 0; begin < n_rows; begin += side_by_side) {
        for (const std::size_t end = std::min(ahead + ahead_at_a_time, n_ahead); ahead < end; ahead += nodes_per_line) {
            __builtin_prefetch(next->nodes_.data() + ahead, 0, 2);
        }
        const float *const values = arranged.data() + begin / side_by_side * size;
        const std::size_t n = std::min(side_by_side, n_rows - begin);
        std::uint32_t places[side_by_side];
        for (std::size_t i = 0; i < side_by_side; ++i) {
            places[i] = is_second[begin + std::min(i, n - 1)] != 0 ? second_root_ : 0;
        }
        // Without branches: they would be guessed wrong half of the time.
        const auto step = [&](std::size_t i) __attribute__((always_inline)) {
            const Node &node = nodes[places[i]];
            const float value = values[node.place + i];
            std::uint32_t goes_right = node.threshold < value;
            if constexpr (has_categories) {
                const std::uint32_t is_number = node.place >= numbers_begin;
                const auto asked = std::bit_cast<std::uint32_t>(node.threshold);
                const std::uint32_t is_other = (asked & std::bit_cast<std::uint32_t>(value)) == 0;
                goes_right = (goes_right & is_number) | (is_other & (is_number ^ 1));
            }
            places[i] = node.left + goes_right;
        };
        for (std::uint32_t moved = 1; moved != 0;) {
            // To ask whether all have arrived takes as long as a step.
            for (std::size_t level = 0; level < 3; ++level) {
#pragma GCC unroll 16
                for (std::size_t i = 0; i < side_by_side; ++i) step(i);
            }
            moved = 0;
#pragma GCC unroll 16
            for (std::size_t i = 0; i < side_by_side; ++i) {
                const std::uint32_t last = places[i];
                step(i);
                moved |= places[i] ^ last;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const Node &leaf = nodes[places[i]];
            leaves[begin + i] = {std::bit_cast<std::uint32_t>(leaf.threshold) & max_first,
                                 static_cast<std::uint32_t>(leaf.place - numbers_begin)};
        }
    }
}

}  // namespace paribus
