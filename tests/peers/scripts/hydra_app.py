import hydra
from omegaconf import OmegaConf


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    print(OmegaConf.to_yaml(cfg))
    return (cfg.lr - 0.03) ** 2 + cfg.dropout / 10


if __name__ == "__main__":
    main()
