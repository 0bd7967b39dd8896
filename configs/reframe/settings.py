# SPDX-License-Identifier: Apache-2.0
# To begin with: this host by mpirun, and the nodes of a Slurm cluster by srun. A site that uses ReFrame has its own.
site_configuration = {
    "systems": [
        {
            "name": "scalebench",
            "descr": "this host, and Slurm's nodes",
            "hostnames": [".*"],
            "partitions": [
                {"name": "local", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "max_jobs": 1},
                {"name": "slurm", "scheduler": "slurm", "launcher": "srun", "environs": ["builtin"], "max_jobs": 1},
            ],
        }
    ]
}
