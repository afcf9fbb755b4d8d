// N-body: every body attracts every other one (all pairs), in single precision, with one array per component.
//
// A time step takes two launches. The velocity kernel reads the positions and masses of all bodies, so every CTA reads
// from every CTA; the position kernel reads the velocities that its own threads stored. The volume of communication
// alternates accordingly.
//
// Arguments: bodies steps

#include "../common/benchmark.h"

namespace {

constexpr int kThreads = 64;
constexpr float kTimeStep = 0.05f;
// Keeps the force finite if two bodies meet.
constexpr float kSoftening = 0.01f;

struct Vector {
    float x, y, z;
};

// Adds to `sum` the acceleration that a body of mass `mass` causes at a distance of (dx, dy, dz).
__host__ __device__ inline void attract(Vector &sum, float dx, float dy, float dz, float mass) {
    const float squared = dx * dx + dy * dy + dz * dz + kSoftening;
    const float scale = mass / (squared * sqrtf(squared));
    sum.x += scale * dx;
    sum.y += scale * dy;
    sum.z += scale * dz;
}

__global__ void updateVelocities(const float *x, const float *y, const float *z, const float *mass, float *vx,
                                 float *vy, float *vz, int bodies) {
    const int body = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (body >= bodies) {
        return;
    }
    const float ownX = x[body];
    const float ownY = y[body];
    const float ownZ = z[body];
    Vector acceleration = {0.0f, 0.0f, 0.0f};
    for (int other = 0; other < bodies; ++other) {
        attract(acceleration, x[other] - ownX, y[other] - ownY, z[other] - ownZ, mass[other]);
    }
    vx[body] += kTimeStep * acceleration.x;
    vy[body] += kTimeStep * acceleration.y;
    vz[body] += kTimeStep * acceleration.z;
}

__global__ void updatePositions(float *x, float *y, float *z, const float *vx, const float *vy, const float *vz,
                                int bodies) {
    const int body = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (body >= bodies) {
        return;
    }
    x[body] += kTimeStep * vx[body];
    y[body] += kTimeStep * vy[body];
    z[body] += kTimeStep * vz[body];
}

struct Bodies {
    std::vector<float> x, y, z, vx, vy, vz, mass;
};

void advance(Bodies &all) {
    const size_t count = all.x.size();
    for (size_t body = 0; body < count; ++body) {
        Vector acceleration = {0.0f, 0.0f, 0.0f};
        for (size_t other = 0; other < count; ++other) {
            attract(acceleration, all.x[other] - all.x[body], all.y[other] - all.y[body], all.z[other] - all.z[body],
                    all.mass[other]);
        }
        all.vx[body] += kTimeStep * acceleration.x;
        all.vy[body] += kTimeStep * acceleration.y;
        all.vz[body] += kTimeStep * acceleration.z;
    }
    for (size_t body = 0; body < count; ++body) {
        all.x[body] += kTimeStep * all.vx[body];
        all.y[body] += kTimeStep * all.vy[body];
        all.z[body] += kTimeStep * all.vz[body];
    }
}

} // namespace

int main(int argc, char **argv) {
    const int bodies = static_cast<int>(benchmark::argument(argc, argv, 1, "bodies", 1, 1 << 20));
    const int steps = static_cast<int>(benchmark::argument(argc, argv, 2, "steps", 1, 100000));

    benchmark::Random random(4);
    Bodies all;
    for (std::vector<float> *component : {&all.x, &all.y, &all.z}) {
        for (int body = 0; body < bodies; ++body) {
            component->push_back(random.between(-1.0f, 1.0f));
        }
    }
    all.vx.assign(bodies, 0.0f);
    all.vy.assign(bodies, 0.0f);
    all.vz.assign(bodies, 0.0f);
    for (int body = 0; body < bodies; ++body) {
        all.mass.push_back(random.between(0.5f, 1.5f) / static_cast<float>(bodies));
    }

    benchmark::DeviceArray<float> x(all.x), y(all.y), z(all.z), vx(all.vx), vy(all.vy), vz(all.vz), mass(all.mass);
    const int ctas = benchmark::divideRoundingUp(bodies, kThreads);
    for (int step = 0; step < steps; ++step) {
        updateVelocities<<<ctas, kThreads>>>(x.data(), y.data(), z.data(), mass.data(), vx.data(), vy.data(),
                                             vz.data(), bodies);
        CUDA_CHECK(cudaGetLastError());
        updatePositions<<<ctas, kThreads>>>(x.data(), y.data(), z.data(), vx.data(), vy.data(), vz.data(), bodies);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    for (int step = 0; step < steps; ++step) {
        advance(all);
    }
    const std::vector<float> foundX = x.download(), foundY = y.download(), foundZ = z.download();
    const bool passed = benchmark::equal("x", foundX, all.x) && benchmark::equal("y", foundY, all.y) &&
                        benchmark::equal("z", foundZ, all.z);
    return benchmark::verdict(passed,
                              benchmark::checksum(foundX) ^ benchmark::checksum(foundY) * 3 ^ benchmark::checksum(foundZ) * 5);
}
