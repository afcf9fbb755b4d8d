// Breadth-first search: the number of edges from a source to every node of a graph.
//
// Each level takes two launches with one thread per node. The first visits the neighbours of the frontier and marks
// those it reaches; the second makes them the next frontier. Flags pass between the threads with the same number in the
// two kernels; distances and visited marks propagate along the edges of the graph, irregularly and over many levels.
//
// Arguments: graph
// The graph is a text file: the number of nodes; for each node, its first edge and number of edges; the source; the
// number of edges; for each edge, its target and a weight, which is ignored.

#include "../common/benchmark.h"

#include <string>
#include <utility>

namespace {

constexpr int kThreads = 512;
constexpr int kUnreached = -1;

struct Node {
    int firstEdge, edges;
};

__global__ void visitNeighbours(const Node *nodes, const int *targets, unsigned char *frontier, unsigned char *reached,
                                const unsigned char *visited, int *distance, int count) {
    const int node = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= count || !frontier[node]) {
        return;
    }
    frontier[node] = 0;
    const int next = distance[node] + 1;
    const Node own = nodes[node];
    for (int edge = own.firstEdge; edge < own.firstEdge + own.edges; ++edge) {
        const int target = targets[edge];
        // Several threads may reach a target at once, but they all store the same value.
        if (!visited[target]) {
            distance[target] = next;
            reached[target] = 1;
        }
    }
}

__global__ void advanceFrontier(unsigned char *frontier, unsigned char *reached, unsigned char *visited, int *again,
                                int count) {
    const int node = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (node >= count || !reached[node]) {
        return;
    }
    frontier[node] = 1;
    visited[node] = 1;
    reached[node] = 0;
    *again = 1;
}

struct Graph {
    std::vector<Node> nodes;
    std::vector<int> targets;
    int source = 0;
};

// Reads the numbers in a text file.
class Numbers {
public:
    explicit Numbers(const char *path) {
        std::FILE *file = std::fopen(path, "rb");
        if (file == nullptr) {
            std::fprintf(stderr, "argument 1 (graph): cannot open %s\n", path);
            std::exit(2);
        }
        std::vector<char> block(1 << 20);
        for (size_t length; (length = std::fread(block.data(), 1, block.size(), file)) > 0;) {
            text_.append(block.data(), length);
        }
        std::fclose(file);
    }

    // Returns the next number, which must be between `low` and `high`.
    int next(long low, long high) {
        while (position_ < text_.size() && (text_[position_] < '0' || text_[position_] > '9')) {
            ++position_;
        }
        long value = position_ < text_.size() ? 0 : -1;
        while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9' && value <= high) {
            value = 10 * value + (text_[position_++] - '0');
        }
        if (value < low || value > high) {
            std::fprintf(stderr, "graph: expected a number from %ld to %ld before byte %zu\n", low, high, position_);
            std::exit(2);
        }
        return static_cast<int>(value);
    }

private:
    std::string text_;
    size_t position_ = 0;
};

Graph read(const char *path) {
    constexpr long limit = 1L << 30;
    Numbers numbers(path);
    Graph graph;
    graph.nodes.resize(numbers.next(1, limit));
    const int count = static_cast<int>(graph.nodes.size());
    for (Node &node : graph.nodes) {
        node.firstEdge = numbers.next(0, limit);
        node.edges = numbers.next(0, limit);
    }
    graph.source = numbers.next(0, count - 1);
    graph.targets.resize(numbers.next(0, limit));
    for (int &target : graph.targets) {
        target = numbers.next(0, count - 1);
        numbers.next(0, limit);
    }
    for (const Node &node : graph.nodes) {
        if (static_cast<size_t>(node.firstEdge) + static_cast<size_t>(node.edges) > graph.targets.size()) {
            std::fprintf(stderr, "graph: the edges of a node extend past the last edge\n");
            std::exit(2);
        }
    }
    return graph;
}

std::vector<int> reference(const Graph &graph) {
    std::vector<int> distance(graph.nodes.size(), kUnreached);
    std::vector<int> queue{graph.source};
    distance[graph.source] = 0;
    for (size_t head = 0; head < queue.size(); ++head) {
        const int node = queue[head];
        const Node own = graph.nodes[node];
        for (int edge = own.firstEdge; edge < own.firstEdge + own.edges; ++edge) {
            const int target = graph.targets[edge];
            if (distance[target] == kUnreached) {
                distance[target] = distance[node] + 1;
                queue.push_back(target);
            }
        }
    }
    return distance;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "argument 1 (graph): expected the path of a graph file and no other arguments\n");
        return 2;
    }
    const Graph graph = read(argv[1]);
    const int count = static_cast<int>(graph.nodes.size());

    std::vector<unsigned char> flags(graph.nodes.size(), 0);
    benchmark::DeviceArray<unsigned char> reached(flags);
    flags[graph.source] = 1;
    benchmark::DeviceArray<unsigned char> frontier(flags), visited(flags);
    std::vector<int> start(graph.nodes.size(), kUnreached);
    start[graph.source] = 0;
    benchmark::DeviceArray<int> distance(start);
    benchmark::DeviceArray<Node> nodes(graph.nodes);
    benchmark::DeviceArray<int> targets(graph.targets.empty() ? std::vector<int>(1, 0) : graph.targets);
    benchmark::DeviceArray<int> again(1);

    const int ctas = benchmark::divideRoundingUp(count, kThreads);
    int levels = 0;
    for (bool more = true; more; ++levels) {
        again.upload({0});
        visitNeighbours<<<ctas, kThreads>>>(nodes.data(), targets.data(), frontier.data(), reached.data(),
                                            visited.data(), distance.data(), count);
        CUDA_CHECK(cudaGetLastError());
        advanceFrontier<<<ctas, kThreads>>>(frontier.data(), reached.data(), visited.data(), again.data(), count);
        CUDA_CHECK(cudaGetLastError());
        more = again.download()[0] != 0;
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    std::printf("levels %d\n", levels);
    const std::vector<int> found = distance.download();
    return benchmark::verdict(benchmark::equal("distance", found, reference(graph)), benchmark::checksum(found));
}
